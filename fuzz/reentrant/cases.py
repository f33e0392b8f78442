"""Runs cases in this process: `cases.py --help`.

A case is an entry of the engine and a number, such as "ChunkLog.append 17": all that happens in it follows from these
two. Number 0 is tame: one call with valid arguments, which must succeed. The entries are found, not listed: by dir()
and in _core.pyi. Before a case begins its name is written to a file, behind the number of those that have ended, so
that whoever started this process knows which one it died of.
"""

from __future__ import annotations

import argparse
import ast
import faulthandler
import gc
import itertools
import os
import shutil
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "python")]

import world as worlds  # noqa: E402
import valid  # noqa: E402
from world import Node, World  # noqa: E402

from roastcoffea import _core  # noqa: E402
from roastcoffea.worker import channel

STUB = ROOT / "python" / "roastcoffea" / "_core.pyi"
CASE_SECONDS = 60  # a case takes milliseconds
BROKEN = 3  # exit code

# ---- entries ----


class Parameter:
    def __init__(self, node: ast.arg, optional: bool, by_name: bool) -> None:
        self.name = node.arg
        self.annotation = ast.unparse(node.annotation) if node.annotation is not None else ""
        self.optional, self.by_name = optional, by_name


def parameters_of(function: ast.FunctionDef) -> list[Parameter] | None:
    """None: it takes anything."""
    args = function.args
    if args.vararg is not None:
        return None
    placed = [*args.posonlyargs, *args.args]
    first_default = len(placed) - len(args.defaults)
    made = [Parameter(node, i >= first_default, i >= len(args.posonlyargs)) for i, node in enumerate(placed)]
    if made and made[0].name in ("self", "cls"):
        del made[0]
    for node, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        made.append(Parameter(node, default is not None, True))
    return made


def signatures() -> dict[str, list[Parameter] | None]:
    """Of the stub: {entry: parameters}."""
    found: dict[str, list[Parameter] | None] = {}
    classes = {node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = parameters_of(node)
        elif isinstance(node, ast.ClassDef) and hasattr(_core, node.name):
            bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
            for inner in itertools.chain(node.body, *(base.body for base in bases)):
                if isinstance(inner, ast.FunctionDef):
                    is_value = any(isinstance(mark, ast.Name) and mark.id == "property" for mark in inner.decorator_list)
                    found.setdefault(f"{node.name}.{inner.name}", [] if is_value else parameters_of(inner))
                elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                    found.setdefault(f"{node.name}.{inner.target.id}", [])
    return found


def entries_of_type(name: str, kind: type) -> Iterator[str]:
    """What a type has that object has not."""
    for attribute in dir(kind):
        home = next((base for base in kind.__mro__ if attribute in vars(base)), object)
        if home is not object and attribute not in ("__doc__", "__module__") and getattr(kind, attribute) is not None:
            yield f"{name}.{attribute}"


SIGNATURES = signatures()


def find_entries() -> list[str]:
    found = {name for name in SIGNATURES if sys.version_info >= (3, 12) or not name.endswith("__buffer__")}
    for name in dir(_core):
        value = getattr(_core, name)
        if isinstance(value, type):
            found.update(entries_of_type(name, value))
        elif callable(value):
            found.add(name)
    return sorted(name for name in found if not name.endswith("offset__"))


def takes_arguments(entry: str) -> bool:
    """Whether a caller's objects get in. What is not known does."""
    parameters = SIGNATURES.get(entry)
    if entry in SIGNATURES and parameters is not None:
        return bool(parameters) or entry.endswith(("__new__", "__init__"))
    return valid.ARGUMENTS.get(entry, valid.BY_NAME.get(entry.partition(".")[2])) != ()


# ---- one case ----


def value_for(world: World, entry: str, parameter: Parameter) -> Any:
    """A valid value, or LookupError."""
    for name in (f"{entry}.{parameter.name}", parameter.name, parameter.annotation):
        if name in valid.VALUES:
            return valid.VALUES[name](world)
    if world.rate > 0:
        return world.odd()
    raise LookupError(f"{entry}: fuzz/reentrant/valid.py has no value for its parameter {parameter.name!r}")


def arguments(world: World, entry: str) -> tuple[list[Any], dict[str, Any]]:
    """Valid ones, with poison in them unless the world is tame."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    makers = valid.ARGUMENTS.get(entry)
    parameters = SIGNATURES.get(entry)
    if makers is None and parameters is None:
        makers = valid.BY_NAME.get(entry.partition(".")[2])
        if makers is None and entry in SIGNATURES:
            makers = ()
        if makers is None:
            raise LookupError(f"{entry}: fuzz/reentrant/valid.py does not know its arguments")
    if makers is not None:
        args = [world.poison(make(world)) for make in makers]
    named = False
    for parameter in parameters or [] if makers is None else []:
        with suppress(LookupError) if parameter.optional else suppress():
            if parameter.optional and world.rate > 0 and world.chance(0.4):
                named = True
                continue
            value = world.poison(value_for(world, entry, parameter))
            named = parameter.by_name and (named or parameter.optional or world.chance(0.3))
            if named:
                kwargs[parameter.name] = value
            else:
                args.append(value)
    if entry == "ChunkLog.sort":
        kwargs["key"] = lambda chunk: world.intrude("key") or 1  # type: ignore[func-returns-value]
    if world.rate > 0 and world.chance(0.03):
        args.append(world.odd())
    if world.rate > 0 and world.chance(0.03) and args:
        args.pop()
    return args, kwargs


class Case:
    def __init__(self, entry: str, number: int) -> None:
        self.entry, self.number = entry, number
        self.owner, _, self.name = entry.rpartition(".")
        self.world = world = World(f"{entry} {number}", tame=number == 0)
        self.processor: Any = None
        self.events: Any = None
        self.ok = False
        world.actions += [world.change_container] * 8
        world.actions += [world.drop_references] * 2
        world.actions += [self.use_something] * 4
        world.actions += [self.start_a_chunk, self.call_again, self.use_a_log, self.use_a_log, self.shorten_memory,
                          self.use_settings, world.collect_garbage, world.act_in_a_thread, self.open_sections,
                          self.end_sections]

    # ---- what a hostile object may do with the engine ----

    def start_a_chunk(self) -> None:
        world = self.world
        processor = self.processor if self.processor is not None and world.chance(0.5) else valid.make_processor(world)
        events = self.events if self.events is not None and world.chance(0.5) else valid.make_events(world)
        world.call(processor.process, events)

    def use_something(self) -> None:
        """Any method of any object of the case."""
        world = self.world
        if world.things:
            thing = world.pick(world.things)
            name = type(thing).__name__
            if hasattr(_core, name):
                entries = sorted(entries_of_type(name, type(thing)))
                self.use(world.pick([entry for entry in entries if takes_arguments(entry)] or entries), thing)

    def call_again(self) -> None:
        if self.world.depth < worlds.DEEPEST:
            self.use(self.entry, self.world.things[0] if self.owner and self.world.things else None)

    def use_a_log(self) -> None:
        world = self.world
        logs = [thing for thing in world.things if isinstance(thing, _core.ChunkLog)]
        if not logs:
            logs = [valid.make_log(world)]
            world.things += logs
        log = world.pick(logs)
        world.call(world.pick((lambda: log.merge_unique(log), lambda: log.extend(log[:5]), log.clear, log.to_bytes,
                               lambda: valid.travels(log), lambda: log.sort(key=len), lambda: [dict(chunk) for chunk in log])))

    def shorten_memory(self) -> None:
        _core._fail_allocations(self.world.pick((0, 1, 2, 5, None, None)))

    def use_settings(self) -> None:
        self.world.call(self.world.pick((
            channel.flush, lambda: channel.flush("memory:a"), _core.faults, _core.sampler_stats,
            lambda: _core.configure(sampler_interval=0.001))))

    def open_sections(self) -> None:
        if self.processor is not None:
            for name in ("outer", "a", "b", "c"):
                section = _core.track_time(self.processor, name)
                self.world.call(section.__enter__)
                self.world.things.append(section)

    def end_sections(self) -> None:
        for thing in list(self.world.things):
            if isinstance(thing, _core.track_time | _core.track_memory | _core.track_bytes):
                self.world.call(thing.__exit__)

    # ---- the calls ----

    def receiver(self) -> Any:
        """An object of the entry's type."""
        if self.owner == "CurrentChunk":
            chunk = self.processor._roastcoffea_current_chunk
            chunk["mine"] = 1
            return chunk
        if self.owner == "ColumnReader":
            return self.mapping.__dict__["extract_column"]
        if self.owner not in valid.RECEIVERS:
            raise LookupError(f"{self.entry}: fuzz/reentrant/valid.py does not know how to make a {self.owner}")
        made = valid.RECEIVERS[self.owner](self.world)
        if self.owner == "ChunkRecord":
            made["mine"] = 1
        return made

    def use(self, entry: str, receiver: Any) -> Any:
        world = self.world
        owner, _, name = entry.rpartition(".")
        if not owner:
            args, kwargs = arguments(world, entry)
            return self.consume(world.call(getattr(_core, name), *args, **kwargs))
        kind = getattr(_core, owner)
        found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if name in ("__new__", "__init__"):
            known = [f"{owner}.{way}" for way in ("__init__", "__new__") if SIGNATURES.get(f"{owner}.{way}") is not None]
            args, kwargs = arguments(world, known[0]) if known else ([], {})
            if name == "__init__" and receiver is not None and world.chance(0.5):
                return world.call(receiver.__init__, *args, **kwargs)
            return self.consume(world.call(kind, *args, **kwargs))
        if found is None or isinstance(found, types.GetSetDescriptorType | types.MemberDescriptorType):
            if world.rate > 0 and world.chance(0.3):
                world.call(setattr, receiver, name, world.odd())
            if world.rate > 0 and world.chance(0.1):
                world.call(delattr, receiver, name)
            return self.consume(world.call(getattr, receiver, name))
        args, kwargs = arguments(world, entry)
        return self.consume(world.call(lambda: getattr(receiver, name)(*args, **kwargs)))

    def consume(self, result: Any) -> Any:
        """Looks at what came out."""
        world = self.world
        raised = world.raised
        if hasattr(_core, type(result).__name__):
            world.things.append(result)
        if isinstance(result, memoryview):
            result.tobytes()
        elif hasattr(result, "__next__"):
            world.call(lambda: list(itertools.islice(result, 50)))
        elif world.rate > 0:
            world.call(repr, result)
        world.raised = raised
        return result

    def body(self) -> None:
        world = self.world
        receiver = self.receiver() if self.owner else None
        if receiver is not None:
            world.things.insert(0, receiver)
        if self.number == 0:
            self.use(self.entry, receiver)
            if world.raised is not None:
                raise world.raised
            self.ok = True
            return
        for _ in range(world.random.randrange(1, 4)):
            self.use(self.entry, receiver)
        for look in (repr, len, valid.travels, dict, list):
            if receiver is not None and world.chance(0.3):
                world.call(look, receiver)

    def run_in_chunk(self) -> None:
        """The calls while a chunk is open, which then ends with what they have left."""
        world = self.world
        raised: list[BaseException] = []
        self.processor, self.events = valid.make_processor(world), valid.make_events(world)
        if self.owner == "ColumnReader":
            self.events.attrs = {"@events_factory": Node(_mapping=valid.Mapping(_access_log=[], source=Node()))}
        factory = self.events.attrs["@events_factory"] if type(self.events.attrs) is dict else None
        self.mapping = getattr(factory, "_mapping", None)

        def body() -> None:
            depth, world.depth = world.depth, 0
            try:
                self.body()
                if world.rate > 0:
                    self.leave_customs()
            except Exception as error:  # raised again where the engine cannot swallow it
                raised.append(error)
            world.depth = depth

        self.processor.__dict__["body"] = body
        world.call(self.processor.process, self.events)
        if raised:
            raise raised[0]

    def leave_customs(self) -> None:
        """What a user writes into the current chunk."""
        world = self.world
        chunk = getattr(self.processor, "_roastcoffea_current_chunk", None)
        if chunk is None:
            return
        values = world.poison({"mine": [1, {"a": 2}], "timing": {"outer": 0.5, "by hand": 1.0}, "memory": {"memory": 1.0},
                               "bytes": {"read": 3}, "other": 1.5})
        for key in ("mine", "timing", "memory", "bytes", "other"):
            with suppress(Exception):
                chunk[world.poison(key)] = values[key]
        for part in ("timing", "memory", "bytes"):
            with suppress(Exception):
                inner = chunk[part]
                world.containers.append(inner)
                inner[world.poison("outer")] = world.poison(1.0)

    def run(self) -> None:
        worlds.current = self.world
        in_chunk = self.owner in ("CurrentChunk", "ColumnReader") or (self.number > 0 and self.world.chance(0.4))
        task = None
        if self.number > 0 and self.world.chance(0.2):
            task = Node(start_time=1.5, key=("a", 1), execution_state={"worker": Node(address="tcp://x")})
            sys.modules["distributed.worker"] = self.world.poison(Node(thread_state=task))
        try:
            if in_chunk:
                self.run_in_chunk()
            else:
                self.body()
        except BaseException as error:
            self.world.note(error)
            if self.number == 0:
                raise
        finally:
            if task is not None:
                sys.modules.pop("distributed.worker", None)
            self.end()

    def end(self) -> None:
        """Everything is let go of, while hostile objects still may do harm; then all settings are put back."""
        world = self.world
        self.processor = self.events = self.mapping = None
        world.depth += 1
        world.containers.clear()
        world.homes.clear()
        world.things.clear()
        world.home = None
        gc.collect()
        gc.freeze()  # what is left are classes and caches: the next collection need not walk through them
        worlds.current = None
        _core._fail_allocations(None)
        for topic in ("memory:a", "memory:b", "nowhere", "file:.", *[None] * 20):
            with suppress(Exception):
                channel.flush(topic)
        channel._kept.clear()
        _core.configure(sampler_interval=0.05)
        self.measure_a_chunk()
        for path in Path().iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        last = _core.faults()["last"] or ""
        if "SystemError" in last and last not in told:
            told.add(last)
            world.broken.append(last)


    def measure_a_chunk(self) -> None:
        """Whatever happened, the next chunk is measured as if nothing had."""
        output = valid.Processor().process(valid.Events(range(3)))
        chunks = output.get("__roastcoffea_metrics__") or []
        if len(chunks) != 1 or chunks[0]["num_events"] != 3 or not chunks[0]["sections"]:
            self.world.broken.append(f"the next chunk was measured as {[dict(chunk) for chunk in chunks]}")


told: set[str] = set()

# ---- many cases ----


def run_case(entry: str, number: int, trace: bool = False) -> Case:
    case = Case(entry, number)
    if trace:
        case.world.trace = lambda text: print(text, file=sys.stderr, flush=True)
    faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
    case.run()
    faulthandler.cancel_dump_traceback_later()
    if case.world.broken:
        print(f"{entry} {number}: {'; '.join(case.world.broken)}", file=sys.stderr, flush=True)
        sys.stderr.flush()
        os._exit(BROKEN)
    return case


def named_cases(names: list[str]) -> Iterator[tuple[str, int]]:
    for name in names:
        entry, _, number = name.rpartition(" ")
        yield entry, int(number)


def listed_cases(first: int, last: int, step: int, only: str) -> Iterator[tuple[str, int]]:
    """Those that take nothing of the caller's only now and then."""
    entries = [entry for entry in find_entries() if only in entry]
    wanted = [entry for entry in entries if takes_arguments(entry)]
    for number in range(first, last, step):
        for entry in entries if number % 8 == 0 else wanted:
            yield entry, number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", action="store_true", help="prints the entries")
    parser.add_argument("--case", action="append", default=[], help="an entry and a number")
    parser.add_argument("--trace", action="store_true", help="prints what hostile objects do")
    parser.add_argument("--file", type=Path, help="a file of cases, one a line")
    parser.add_argument("--numbers", type=int, nargs=3, default=(0, 0, 1), help="first, last + 1 and step, of all entries")
    parser.add_argument("--only", default="", help="of those, entries with this in their name")
    parser.add_argument("--after", help="the case after which to begin")
    parser.add_argument("--seconds", type=float, default=1e9, help="ends then")
    parser.add_argument("--current", type=Path, help="the file that names the case that is running")
    options = parser.parse_args()
    if options.entries:
        print("\n".join(find_entries()))
        return 0
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None
    faulthandler.enable()
    cases: Iterator[tuple[str, int]] = itertools.chain(
        named_cases(options.case), named_cases(options.file.read_text().splitlines() if options.file else []),
        listed_cases(*options.numbers, options.only))
    if options.after:
        wanted = next(named_cases([options.after]))
        cases = itertools.islice(itertools.dropwhile(lambda case: case != wanted, cases), 1, None)
    current = os.open(options.current, os.O_WRONLY | os.O_CREAT, 0o600) if options.current else -1
    until = time.monotonic() + options.seconds
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        gc.collect()
        gc.freeze()
        gc.disable()  # it runs where a case says so
        for entry, number in cases:
            if time.monotonic() > until:
                break
            if current >= 0:
                os.pwrite(current, f"{ran} {entry} {number}".ljust(120).encode(), 0)
            run_case(entry, number, options.trace)
            ran += 1
        os.chdir("/")
    if current >= 0:
        os.pwrite(current, f"{ran}".ljust(120).encode(), 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
