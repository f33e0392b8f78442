"""The engine of roastcoffea."""

import sys
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    Sequence,
    ValuesView,
)
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Literal, NotRequired, ParamSpec, Self, TypeAlias, TypedDict, TypeVar, final, overload

from _typeshed import StrPath
from typing_extensions import Buffer

__version__: str

_P = ParamSpec("_P")
_R = TypeVar("_R")
_When: TypeAlias = datetime | str | float
_Chunks: TypeAlias = Iterable[Mapping[str, Any]] | None
_Piece: TypeAlias = tuple[str | None, str | None, str | None, int | None, int | None]
_Tracking: TypeAlias = Mapping[Any, Any] | WorkerSeries | None
_Scalars: TypeAlias = dict[str, float | None]
_Reading: TypeAlias = Literal["rss", "peak_rss", "usage", "runqueue", "io_wait", "io"]

class _Settings(TypedDict):
    readings: list[_Reading]
    sampler_interval: float

class _SamplerStats(TypedDict):
    samples: int
    missed: int
    watches: int
    thread_starts: int
    cpu_seconds: float

class _Faults(TypedDict):
    count: int
    last: str | None

class _WorkerEvent(TypedDict):
    worker: str
    kind: Literal["joined", "left"]
    when: datetime
    threads: int | None

class _CatalogueRow(TypedDict):
    key: str
    aliases: list[str]
    type: str
    scope: str
    unit: str
    group: str
    label: str
    formula: str
    caveat: str

# ---- in the worker ----

@final
class ChunkRecord(MutableMapping[str, Any]):
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self, /) -> Iterator[str]: ...
    def __len__(self, /) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...
    def keys(self) -> KeysView[str]: ...
    def values(self) -> ValuesView[Any]: ...
    def items(self) -> ItemsView[str, Any]: ...
    def get(self, key: str, default: Any = None, /) -> Any: ...
    def as_dict(self) -> dict[str, Any]: ...

@final
class ChunkLog(list[Any]):
    # Of bytes: a packed log, as from_bytes() takes it.
    def __init__(self, chunks: Iterable[Mapping[str, Any]] | bytes = (), /) -> None: ...
    def copy(self) -> ChunkLog: ...
    def __copy__(self) -> ChunkLog: ...
    def __deepcopy__(self, memo: Any, /) -> ChunkLog: ...
    def stay_here(self) -> ChunkLog: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: Buffer, /) -> ChunkLog: ...
    def merge_unique(self, chunks: Iterable[Mapping[str, Any]], /) -> tuple[int, int]: ...

@final
class CurrentChunk(MutableMapping[str, Any]):
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self, /) -> Iterator[str]: ...
    def __len__(self, /) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class ColumnReader:
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

@final
class track_metrics(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    __name__: str
    __qualname__: str
    def __new__(cls, func: Callable[_P, _R]) -> Self: ...
    def __call__(self, /, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None, /) -> Callable[..., _R]: ...

class _Section:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Literal[False]: ...

@final
class track_time(_Section):
    def __new__(cls, processor: Any, name: str) -> Self: ...

@final
class track_memory(_Section):
    def __new__(cls, processor: Any, name: str) -> Self: ...

@final
class track_bytes(_Section):
    def __new__(cls, processor: Any, events: Any, name: str) -> Self: ...

class BaseInstrumentationContext:
    processor: Any
    name: Any
    def __init__(self, processor: Any, name: Any = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> bool | None: ...
    def record_metric(self, name: str, value: Any, /) -> None: ...

def configure(
    *, readings: Iterable[_Reading] | None = None, sampler_interval: float | None = None
) -> _Settings: ...
def sampler_stats() -> _SamplerStats: ...
def parse_work_item(text: str, /) -> _Piece | None: ...
def faults() -> _Faults: ...
def describe_host() -> dict[str, str]: ...
def load_legacy(
    path: str | bytes | PathLike[str] | PathLike[bytes], /
) -> tuple[Run, dict[Any, Any], Any, tuple[float, float]]: ...
def sum_reports(
    reports: Sequence[Mapping[str, Any]], replayed: ChunkLog | None = None
) -> dict[str, Any]: ...
def split_replayed(chunks: ChunkLog, topics: Iterable[str], /) -> tuple[ChunkLog, ChunkLog]: ...
def now() -> float: ...
def hold_clock() -> None: ...
def release_clock() -> None: ...
def shift_clocks(chunks: ChunkLog, offsets: dict[str, float], /) -> ChunkLog: ...
def format_value(value: float | None, unit: str, /) -> str: ...
def flush_outbox(topic: str | None = None, /) -> None: ...
def get_process_memory() -> float: ...
def catalogue() -> list[_CatalogueRow]: ...

# ---- on the scheduler ----

@final
class WorkerSeries:
    def __new__(cls) -> Self: ...
    def __len__(self, /) -> int: ...
    def tick(self, workers: Iterable[Any] | Mapping[Any, Any], when: _When | None = None) -> None: ...
    def tick_values(
        self, when: _When | None, workers: dict[str, dict[str, Any]]
    ) -> None: ...
    def join(
        self, address: str, when: _When | None = None, threads: int = 0, host: str | None = None
    ) -> None: ...
    def leave(self, address: str, when: _When | None = None) -> None: ...
    def extend(self, piece: WorkerSeries, from_tick: int = 0, from_event: int = 0) -> None: ...
    def as_tracking_data(self) -> dict[str, dict[Any, Any]]: ...
    @classmethod
    def from_tracking_data(cls, data: Mapping[str, Any], /) -> Self: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: Buffer, /) -> Self: ...
    @property
    def workers(self) -> list[str]: ...
    @property
    def hosts(self) -> dict[str, str | None]: ...
    @property
    def events(self) -> list[_WorkerEvent]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def sample_count(self) -> int: ...

@final
class Attempts:
    def __new__(cls) -> Self: ...
    def __len__(self, /) -> int: ...
    def records(self, *, foreign: bool = False) -> list[dict[str, Any]]: ...
    def set_kind(self, prefix: str, kind: str, /) -> None: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: Buffer, /) -> Self: ...
    @property
    def departures(self) -> list[dict[str, Any]]: ...
    @property
    def workers(self) -> list[str]: ...
    @property
    def nbytes(self) -> int: ...

@final
class TaskWatch:
    def __new__(cls, tasks: Mapping[Any, Any]) -> Self: ...
    def transition(self, key: Any, start: str, finish: str, /, **kwargs: Any) -> None: ...
    def raised(self, /, **kwargs: Any) -> None: ...
    def expect(self, keys: Iterable[Any], /) -> None: ...
    def moved(self, key: Any, worker: str, /) -> None: ...
    def left(
        self, worker: str, expected: bool, running: int, lost: Iterable[Any], stimulus_id: str
    ) -> None: ...
    def finish(self) -> Attempts: ...

# ---- on this machine ----

class _ProcessLife(TypedDict):
    pid: int
    parent: int
    joined: datetime
    left: datetime | None

@final
class ProcessTree:
    def __new__(cls, pid: int = 0, proc_root: str | None = None) -> Self: ...
    def __len__(self, /) -> int: ...
    def sample(self) -> bool: ...
    def series(self, workers: dict[int, int | None], host: str) -> WorkerSeries: ...
    def news(self, workers: dict[int, int | None], host: str) -> WorkerSeries: ...
    @property
    def processes(self) -> list[_ProcessLife]: ...

# ---- a whole run ----

@final
class Column:
    def __len__(self, /) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Table:
    def __len__(self, /) -> int: ...
    # a numpy array; without numpy a memoryview, or a tuple of texts
    def column(self, name: str, /) -> Any: ...
    def categories(self, name: str, /) -> list[str]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def nbytes(self) -> int: ...

class _SummaryTable(TypedDict):
    id: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    caption: str | None
    has_content: bool

@final
class Summary:
    def __new__(cls, source: Run | Mapping[str, Any], run: Run | None = None) -> Self: ...
    def draw(self, width: int = 80, color: bool = False, table: str | None = None) -> str: ...
    def json(self) -> str: ...
    @property
    def tables(self) -> list[_SummaryTable]: ...
    @property
    def notes(self) -> list[str]: ...

@final
class Run:
    def __new__(
        cls,
        *,
        report: Mapping[str, Any] | None = None,
        t_start: float | None = None,
        t_end: float | None = None,
        chunks: _Chunks = None,
        series: _Tracking = None,
        spans: Mapping[Any, Any] | None = None,
        processor_name: str | None = None,
        custom_metrics: Mapping[str, Any] | None = None,
        section_metrics: _Chunks = None,
        meta: dict[str, str] | None = None,
        notes: Iterable[str] | None = None,
        replayed: int = 0,
        attempts: Attempts | None = None,
    ) -> Self: ...
    def metrics(
        self, *, chunk_info: bool = True, files_and_workers: bool = True, budget: bool = True
    ) -> dict[str, Any]: ...
    def budget(
        self, by: Literal["dataset", "worker", "host", "file"] | None = None
    ) -> dict[Any, Any] | None: ...
    def lost_workers(self) -> list[dict[str, Any]]: ...
    def failed_pieces(self, more: Iterable[_Piece] = ..., /) -> list[_Piece]: ...
    def failed_tasks(self) -> list[str]: ...
    def diagnose(self) -> list[dict[str, Any]]: ...
    @property
    def has_budget(self) -> bool: ...
    @property
    def report(self) -> dict[str, Any]: ...
    @property
    def t_start(self) -> float | None: ...
    @property
    def t_end(self) -> float | None: ...
    @property
    def processor_name(self) -> str | None: ...
    @property
    def meta(self) -> dict[str, str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def replayed(self) -> int: ...
    @property
    def chunk_log(self) -> ChunkLog: ...
    @property
    def series(self) -> WorkerSeries | None: ...
    @property
    def attempts(self) -> Attempts | None: ...
    @property
    def spans(self) -> dict[tuple[str, ...], float]: ...
    @property
    def chunks(self) -> Table: ...
    @property
    def sections(self) -> Table: ...
    @property
    def samples(self) -> Table: ...
    @property
    def reads(self) -> Table: ...

# ---- measurements on disk ----

@final
class LiveMeasurement:
    def __new__(cls, path: StrPath, *, overwrite: bool = True) -> Self: ...
    def append(self, run: Run, /) -> None: ...
    def finish(
        self,
        run: Run,
        *,
        config: Buffer | None = None,
        extras: Buffer | None = None,
        notes: Iterable[str] | None = None,
    ) -> None: ...
    def abandon(self) -> None: ...

def save_measurement(
    run: Run,
    path: StrPath,
    *,
    overwrite: bool = True,
    config: Buffer | None = None,
    extras: Buffer | None = None,
    notes: Iterable[str] | None = None,
) -> None: ...
def load_measurement(
    path: StrPath, /
) -> tuple[Run, dict[str, bytes], Literal["finished", "live", "unfinished"]]: ...
def measurement_kind(path: StrPath, /) -> Literal["ours", "legacy"] | None: ...
def new_measurement_name(folder: StrPath, t: float, /) -> str: ...

# ---- the formulas ----

def workflow_metrics(
    report: Mapping[str, Any] | None,
    t_start: float | None,
    t_end: float | None,
    custom_metrics: Mapping[str, Any] | None = None,
) -> _Scalars: ...
def worker_metrics(tracking_data: _Tracking, /) -> _Scalars: ...
def fine_metrics(
    cumulative: Mapping[Any, Any] | None, processor_name: str | None = None
) -> _Scalars: ...
def chunk_metrics(chunks: _Chunks, section_metrics: _Chunks = None) -> dict[str, Any]: ...
def file_metrics(chunks: _Chunks, report: Mapping[str, Any] | None = None) -> dict[str, Any]: ...
def efficiency_metrics(
    workflow: Mapping[str, Any] | None, worker: Mapping[str, Any] | None
) -> _Scalars: ...
def all_metrics(
    report: Mapping[str, Any] | None,
    tracking_data: _Tracking,
    t_start: float | None,
    t_end: float | None,
    custom_metrics: Mapping[str, Any] | None = None,
    span_metrics: Mapping[Any, Any] | None = None,
    processor_name: str | None = None,
    chunk_metrics: _Chunks = None,
    section_metrics: _Chunks = None,
) -> dict[str, Any]: ...
def chunk_info(
    chunks: _Chunks, /
) -> dict[tuple[str, int, int], tuple[float, float, int | None]]: ...

# ---- what plots show ----

# a buffer of numbers, such as an array of numpy's (of which older stubs do not say so), or a sequence
_Numbers: TypeAlias = Any

class _Timeline(TypedDict):
    start: float
    time: memoryview[float]
    workers: memoryview[float]
    sum: memoryview[float]
    mean: memoryview[float]
    min: memoryview[float]
    p10: memoryview[float]
    p50: memoryview[float]
    p90: memoryview[float]
    max: memoryview[float]
    n_workers: int
    # name, times, values, mean, peak
    lines: list[tuple[str, memoryview[float], memoryview[float], float, float]]

class _WorkerCounts(TypedDict):
    start: float
    time: memoryview[float]
    workers: memoryview[float]

class _Throughput(TypedDict):
    n: int
    start: float
    edges: memoryview[float]
    rates: memoryview[float]
    running: memoryview[float]

class _Gantt(TypedDict):
    n: int
    start: float
    edges: memoryview[float]
    owners: memoryview[int]
    # within the limits
    chunk: NotRequired[memoryview[int]]
    row: NotRequired[memoryview[int]]
    left: NotRequired[memoryview[float]]
    width: NotRequired[memoryview[float]]
    first_row: NotRequired[memoryview[int]]
    # beyond them
    rows: NotRequired[int]
    busy: NotRequired[memoryview[float]]

class _Statistics(TypedDict):
    n: int
    mean: float
    min: float
    max: float
    median: float
    p95: float

class _Histogram(_Statistics):
    edges: memoryview[float]
    counts: memoryview[int]

class _Ranges(_Statistics):
    means: memoryview[float]
    lows: memoryview[float]
    highs: memoryview[float]

class _Pairs(TypedDict):
    n: int
    x_edges: memoryview[float]
    y_edges: memoryview[float]
    intercept: float | None
    slope: float | None
    r: float | None
    # within the limit
    x: NotRequired[memoryview[float]]
    y: NotRequired[memoryview[float]]
    # beyond it
    counts: NotRequired[memoryview[int]]

def plot_timeline(
    tracking_data: _Tracking,
    measure: str,
    points: int = 1000,
    lines: int = 0,
    line_points: int = 1000,
    means: bool = False,
) -> _Timeline | None: ...
def plot_worker_counts(tracking_data: _Tracking, points: int = 1000) -> _WorkerCounts | None: ...
def plot_throughput(
    intervals: Mapping[Any, Any] | tuple[_Numbers, _Numbers, _Numbers], bins: int = 200
) -> _Throughput | None: ...
def plot_gantt(
    owners: _Numbers,
    starts: _Numbers,
    ends: _Numbers,
    n_owners: int,
    limit: int = 5000,
    rows: int = 100,
    bins: int = 600,
) -> _Gantt | None: ...
def plot_histogram(
    values: _Numbers, bins: int, skip: _Numbers | None = None
) -> _Histogram | None: ...
def plot_pairs(
    x: _Numbers,
    y: _Numbers,
    skip: _Numbers | None = None,
    limit: int = 5000,
    x_bins: int = 80,
    y_bins: int = 60,
) -> _Pairs | None: ...
def plot_ranges(
    values: _Numbers, groups: int, order: _Numbers | None = None, skip: _Numbers | None = None
) -> _Ranges | None: ...
def plot_sums(codes: _Numbers, values: _Numbers, groups: int, /) -> memoryview[float]: ...
def plot_tasks(
    span_metrics: Mapping[Any, Any] | None, beside: bool = False
) -> dict[str, dict[str, float]]: ...

# ---- what the report shows ----

class _Top(TypedDict):
    rest: int
    # a row a group, and one more for the rest if there is one
    code: memoryview[int]
    rows: memoryview[int]
    skipped: memoryview[float]
    # sums, maxima, ratios
    columns: list[memoryview[float]]

class _Outliers(TypedDict):
    n: int
    index: memoryview[int]
    expected: memoryview[float]

def report_top(
    codes: _Numbers,
    groups: int,
    sums: Sequence[_Numbers],
    maxima: Sequence[_Numbers] = (),
    ratios: Sequence[tuple[int, int]] = (),
    skip: _Numbers | None = None,
    order: int = 0,
    limit: int = 200,
) -> _Top: ...
def report_outliers(
    x: _Numbers,
    y: _Numbers,
    intercept: float,
    slope: float,
    skip: _Numbers | None = None,
    limit: int = 20,
) -> _Outliers: ...

# ---- while a run goes on ----

class _ProgressView(TypedDict):
    chunks: int
    failed: int
    byte_rate: float | None
    event_rate: float | None
    workers: float | None
    memory: float | None
    memory_limit: float | None
    seconds_left: float | None

@final
class Progress:
    def __new__(cls, start: float) -> Self: ...
    def add_chunks(self, chunks: Iterable[Mapping[str, Any]], now: float, /) -> None: ...
    def add_series(self, piece: WorkerSeries, /) -> None: ...
    def look(self, now: float, total: int = 0) -> _ProgressView: ...

# ---- for this package and its tests ----

def _unpack_record(data: Buffer, /) -> ChunkRecord: ...
def _reduce_chunk_log(log: ChunkLog, /) -> tuple[type[list[Any]], tuple[bytes | list[Any]]]: ...
def _fail_allocations(after: int | None, /) -> None: ...
