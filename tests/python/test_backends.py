"""Backends: which one belongs to what, and backends of others."""

from __future__ import annotations

import textwrap
from types import SimpleNamespace

import pytest
from stand_ins import CondorExecutor, DaskExecutor, FuturesExecutor, IterativeExecutor, Runner, TaskVineExecutor, run_python

from roastcoffea.aggregation.backends import _PARSERS, get_parser, known_parsers
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.backends import known_backends, make_backend, register_backend
from roastcoffea.backends.base import AbstractMetricsBackend
from roastcoffea.backends.local import LocalSource
from roastcoffea.backends.registry import _REGISTERED, backend_name, source_of
from roastcoffea.backends.source import Collected, Engine, News, Ran, Source

REPORT = {"entries": 1000, "bytesread": 2000, "processtime": 3.0, "chunks": 4}


@pytest.fixture
def registry():
    """What a test registers is forgotten."""
    before = dict(_REGISTERED), dict(_PARSERS)
    yield
    for table, kept in zip((_REGISTERED, _PARSERS), before):
        table.clear()
        table.update(kept)


# ---- backends of others ----

class Minimal(AbstractMetricsBackend):
    """Nothing but what is abstract, and no super().__init__()."""

    def __init__(self, manager):
        self.manager = manager

    def start_tracking(self, interval):
        self.interval = interval

    def stop_tracking(self):
        return {}

    def create_span(self, name):
        return None

    def get_span_metrics(self, span_info):
        return {}

    def supports_fine_metrics(self):
        return False


class Bare(Minimal):
    def __init__(self):
        self.manager = "own"


# ---- the abstract class ----

def test_base_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        AbstractMetricsBackend()
    assert AbstractMetricsBackend.__abstractmethods__ == {
        "start_tracking", "stop_tracking", "create_span", "get_span_metrics", "supports_fine_metrics"}


class Spans(Minimal):
    """All five methods have something to say, or raise what they are told to."""

    def __init__(self, fails=()):
        self.calls, self.fails = [], fails

    def _called(self, name, answer):
        self.calls.append(name)
        if name in self.fails:
            raise OSError(f"{name} is broken")
        return answer

    def start_tracking(self, interval):
        self._called("start_tracking", None)

    def stop_tracking(self):
        return self._called("stop_tracking", {"worker_counts": {}})

    def create_span(self, name):
        return self._called("create_span", f"<{name}>")

    def get_span_metrics(self, span_info):
        return self._called("get_span_metrics", {("execute", span_info, "thread-cpu", "seconds"): 1.0})

    def supports_fine_metrics(self):
        return self._called("supports_fine_metrics", True)


def test_five_methods_are_a_source():
    backend = Spans()
    source = source_of(backend)
    assert source.begin(0.5) == Engine(span="<coffea-processing>") and source.news() == News([], None)
    assert source.workers_without_us() == ""
    found = source.end(Ran({"Analysis"}, [{"pid": 1}]))
    assert found == Collected(tracking_data={"worker_counts": {}},
                              figures={("execute", "<coffea-processing>", "thread-cpu", "seconds"): 1.0})
    source.abandon()
    assert backend.calls == ["start_tracking", "supports_fine_metrics", "create_span", "get_span_metrics",
                             "stop_tracking"]


def test_five_methods_without_tracking():
    backend = Minimal(None)
    source = source_of(backend)
    assert source.begin(None) == Engine() and not hasattr(backend, "interval")
    assert source.end(Ran()) == Collected()


@pytest.mark.parametrize("name", ["get_span_metrics", "stop_tracking"])
def test_a_method_that_fails_costs_its_own_part_alone(name):
    source = source_of(Spans([name]))
    source.begin(0.5)
    found = source.end(Ran())
    assert [f"{name} is broken" in note for note in found.notes] == [True]
    assert (found.figures is None, found.tracking_data is None) == (name == "get_span_metrics", name == "stop_tracking")


@pytest.mark.parametrize("name", ["start_tracking", "supports_fine_metrics", "create_span"])
def test_a_method_that_fails_at_the_beginning(name):
    backend = Spans([name])
    source = source_of(backend)
    with pytest.raises(OSError, match=name):
        source.begin(0.5)
    source.abandon()
    assert backend.calls[-1] == "stop_tracking"


class Log(Source):
    """A source of somebody else."""

    def __init__(self, executor):
        self.executor = executor

    def begin(self, interval):
        return Engine("a log", ["it has no clock"])

    def end(self, ran):
        return Collected()


def test_a_source_can_be_registered(registry):
    register_backend("taskvine", Log)
    executor = TaskVineExecutor()
    made = make_backend(Runner(executor))
    assert type(made) is Log and made.executor is executor and source_of(made) is made
    assert backend_name(made) == "taskvine" and make_backend(made) is made
    assert backend_name(LocalSource()) == "local"
    assert made.news() == News() and made.abandon() is None


# ---- which backend ----

@pytest.mark.parametrize("spec", [None, IterativeExecutor(), FuturesExecutor(), CondorExecutor(),
                                  Runner(FuturesExecutor())], ids=lambda spec: type(spec).__name__)
def test_local_is_the_default(spec):
    backend = make_backend(spec)
    assert type(backend) is LocalSource
    assert backend.executor is (spec.executor if isinstance(spec, Runner) else spec)
    assert backend_name(backend) == "local"


def test_backend_that_is_ready_wins():
    backend = Minimal(1)
    assert make_backend(IterativeExecutor(), backend) is backend
    assert make_backend(backend) is backend
    assert type(make_backend(7, Minimal)) is Minimal
    assert make_backend(7, Minimal).manager == 7


def test_dask_executor_without_a_client():
    with pytest.raises(ValueError, match="DaskExecutor has no client.*distributed.Client"):
        make_backend(DaskExecutor())
    with pytest.raises(ValueError, match="client"):
        make_backend(None, "dask")


def test_dask_belongs_to_clients(registry):
    made = []

    class Fake(Minimal):
        def __init__(self, client):
            made.append(client)

    register_backend("dask", Fake)
    client = SimpleNamespace(run_on_scheduler=None)
    executor = DaskExecutor(client)
    make_backend(client), make_backend(executor), make_backend(Runner(executor))
    # a class of one's own under this name is handed the executor itself
    assert made == [client, executor, executor]


def test_unknown_name():
    with pytest.raises(ValueError, match=r"Unsupported backend: 'slurm'. Known: dask, local"):
        make_backend(None, "slurm")


@pytest.mark.parametrize("spec", [3, "dask", object(), [IterativeExecutor()]])
def test_what_is_no_executor(spec):
    with pytest.raises(TypeError, match="cannot be measured; a distributed.Client"):
        make_backend(spec)


def test_what_is_no_backend():
    with pytest.raises(TypeError, match="backend: a name or a backend"):
        make_backend(None, 3)


# ---- backends of others ----

def test_register(registry):
    register_backend("taskvine", Minimal)
    assert "taskvine" in known_backends()
    assert "taskvine" in known_parsers()
    executor = TaskVineExecutor()
    for backend in (make_backend(executor), make_backend(Runner(executor)),
                    make_backend(executor, "taskvine")):
        assert type(backend) is Minimal
        assert backend.manager is executor
        assert backend_name(backend) == "taskvine"
    assert type(make_backend(IterativeExecutor())) is LocalSource


def test_class_without_arguments(registry):
    register_backend("bare", Bare)
    assert make_backend(IterativeExecutor(), "bare").manager == "own"


def test_error_of_a_constructor_is_not_hidden(registry):
    class Broken(Minimal):
        def __init__(self, manager):
            raise TypeError("my own fault")

    register_backend("broken", Broken)
    with pytest.raises(TypeError, match="my own fault"):
        make_backend(1, "broken")


def test_what_cannot_be_registered():
    for name in ("", None, 3):
        with pytest.raises(ValueError, match="no name of a backend"):
            register_backend(name, Minimal)
    for backend_class in (None, Minimal(1), dict):
        with pytest.raises(TypeError, match="AbstractMetricsBackend"):
            register_backend("x", backend_class)
    with pytest.raises(TypeError, match="parse_tracking_data"):
        register_backend("x", Minimal, parser=3)
    assert "x" not in known_backends()


def test_backend_that_was_never_registered(registry):
    class CondorMetricsBackend(Minimal):
        pass

    backend = CondorMetricsBackend(1)
    assert backend_name(backend) == "condor"
    assert MetricsAggregator("condor").aggregate(REPORT, {}, 0.0, 2.0)["wall_time"] == 2.0


class TripleParser:
    """Counts a worker a letter."""

    def parse_tracking_data(self, tracking_data):
        return {"avg_workers": float(len(tracking_data["letters"])), "cores_per_worker": 1.0,
                "total_cores": float(len(tracking_data["letters"]))}


@pytest.mark.parametrize("parser", [TripleParser, TripleParser()], ids=["class", "object"])
def test_parser_of_its_own(registry, parser):
    register_backend("letters", Minimal, parser=parser)
    metrics = MetricsAggregator("letters").aggregate(REPORT, {"letters": "abc"}, 0.0, 2.0)
    assert metrics["avg_workers"] == 3.0
    assert metrics["core_efficiency"] == pytest.approx(3.0 / (2.0 * 3.0))
    assert metrics["tracking_data"] == {"letters": "abc"}
    assert MetricsAggregator("letters").aggregate(REPORT, None, 0.0, 2.0)["avg_workers"] is None


class FiveMethods(AbstractMetricsBackend):
    """What a user's own backend has at least; its tracking data is of a form of its own."""

    def __init__(self, manager):
        self.manager = manager

    def start_tracking(self, interval):
        pass

    def stop_tracking(self):
        return {"taskvine_metrics": ...}

    def create_span(self, name):
        return None

    def get_span_metrics(self, span_info):
        return {}

    def supports_fine_metrics(self):
        return False


def test_five_methods_are_enough(registry):
    taskvine = FiveMethods
    register_backend("taskvine", taskvine)
    backend = make_backend(TaskVineExecutor())
    assert type(backend) is taskvine
    assert backend_name(backend) == "taskvine"
    backend.start_tracking(1.0)
    tracking = backend.stop_tracking()
    assert tracking == {"taskvine_metrics": ...}
    assert backend.get_span_metrics(backend.create_span("x")) == {}
    assert get_parser("taskvine").parse_tracking_data(tracking)["avg_workers"] is None
    metrics = MetricsAggregator("taskvine").aggregate(
        REPORT, tracking, 10.0, 14.0, span_metrics=backend.get_span_metrics(None))
    assert metrics["wall_time"] == 4.0
    assert metrics["total_events"] == 1000
    assert metrics["tracking_data"] == {"taskvine_metrics": ...}
    for key in ("avg_workers", "peak_workers", "total_cores", "peak_memory_bytes", "core_efficiency",
                "cpu_utilization_avg_pct", "cpu_time_seconds"):
        assert metrics.get(key) is None, key


def test_entry_point(tmp_path):
    """A package that somebody installed: its backend is there without an import of it."""
    (tmp_path / "condor_roast.py").write_text(textwrap.dedent("""
        from roastcoffea.backends.base import AbstractMetricsBackend
        class Parser:
            def parse_tracking_data(self, tracking_data):
                return {"avg_workers": tracking_data["slots"]}
        class Condor(AbstractMetricsBackend):
            parser = Parser
            def __init__(self, pool): self.pool = pool
            def start_tracking(self, interval): pass
            def stop_tracking(self): return {"slots": 12.0}
            def create_span(self, name): return None
            def get_span_metrics(self, span_info): return {}
            def supports_fine_metrics(self): return False
    """))
    info = tmp_path / "condor_roast-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: condor-roast\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[roastcoffea.backends]\ncondor = condor_roast:Condor\n")
    script = textwrap.dedent("""
        import sys
        from roastcoffea.aggregation.core import MetricsAggregator
        from roastcoffea.backends import known_backends, make_backend
        from roastcoffea.backends.registry import backend_name
        class ExecutorBase: pass
        class CondorExecutor(ExecutorBase): pass
        assert known_backends() == ["condor", "dask", "local", "parsl", "taskvine"], known_backends()
        assert "condor_roast" not in sys.modules
        if sys.argv[1] == "parser first":
            assert MetricsAggregator("condor").parser.parse_tracking_data({"slots": 1}) == {"avg_workers": 1}
        backend = make_backend(CondorExecutor())
        assert type(backend).__name__ == "Condor" and backend_name(backend) == "condor"
        assert type(make_backend(3, "condor")).__name__ == "Condor"
        metrics = MetricsAggregator("condor").aggregate({}, backend.stop_tracking(), 0.0, 1.0)
        assert metrics["avg_workers"] == 12.0
    """)
    for order in ("parser first", "backend first"):
        run_python(script, order, path=tmp_path)


def test_nothing_foreign_is_imported():
    """Neither the package nor the local backend needs Dask or Coffea, not even to tell what an object is."""
    run_python(textwrap.dedent("""
        import sys
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("dask", "distributed", "coffea", "numpy"):
                    raise ImportError(f"{name} must not be imported")
        sys.meta_path.insert(0, Refuse())
        import roastcoffea
        from roastcoffea.backends import make_backend
        from roastcoffea.backends.source import Ran
        source = make_backend(None)
        assert source.begin(0.01).topic
        assert source.end(Ran()).series.workers
    """))
