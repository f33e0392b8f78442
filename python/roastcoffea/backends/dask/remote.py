"""Functions that run in other processes of a Dask cluster, sent there by value.

It also runs where this package is not installed. A function imports what it needs, and of this
module it uses nothing but other functions.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["ask_counters", "begin_worker", "by_value", "discard", "fetch_news", "finish", "finish_worker",
           "forget_worker", "has_us", "install", "look", "read_counters", "run_on_worker", "sample"]

_F = TypeVar("_F", bound=Callable[..., Any])


def by_value(function: _F) -> _F:
    """A copy that belongs to no module, so that cloudpickle sends the code and not its address. The
    functions of its module that it calls go with it."""
    assert isinstance(function, types.FunctionType)
    module = function.__globals__
    scope: dict[str, Any] = {"__builtins__": builtins}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = "sent by value"
    for name in _names(function.__code__):
        called = module.get(name)
        if isinstance(called, types.FunctionType) and called.__module__ == function.__module__:
            scope[name] = by_value(called)
    return copy  # type: ignore[return-value]


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a function uses, with those of its inner functions and comprehensions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


# ---- on the scheduler ----

def look(dask_scheduler: Any) -> dict[str, Any]:
    """What the scheduler supports: why it lacks this package, if it does, and whether it has spans."""
    problem = None
    try:
        import roastcoffea.backends.dask.scheduler  # noqa: F401
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return {"problem": problem, "spans": "spans" in dask_scheduler.extensions}


async def install(order: dict[str, Any], dask_scheduler: Any) -> dict[str, Any]:
    """Puts our plugin onto the scheduler, where it has this package; one that is there already stays, as the first
    answer may have been lost. What `look` says; why the workers cannot be sampled, or the run not be
    shown on the scheduler's server, if so; `zero`, the moment that the
    steady clock counts from; when this began and ended by that clock; and the counters of this process and of the
    workers, as the run begins."""
    begun = _steady()
    if order["name"] in _discarded():
        raise RuntimeError("the run has ended before it began")
    found = await _put_on(order, dask_scheduler)
    there = list(dask_scheduler.workers)
    if order["name"] in dask_scheduler.plugins:  # it knows the workers before they have anything of ours
        dask_scheduler.plugins[order["name"]].begin_counters(there, order)
    counters = {"scheduler": read_counters(), **dict.fromkeys(there), **await ask_counters(order, there, dask_scheduler)}
    ended = _steady()
    if order["name"] in _discarded():  # meanwhile
        await ask_counters({**order, "ask": order["forget"]}, there, dask_scheduler)
    return {**found, "zero": _now() - _steady(), "begun": begun, "ended": ended, "counters": counters}


def _discarded() -> Any:
    """The names of runs whose plugin was removed: messages may overtake each other. Without this package nothing can be
    noted."""
    try:
        from roastcoffea.backends.dask.scheduler import discarded
    except Exception:
        return []
    return discarded


def _steady() -> float:
    """The monotonic clock that the engine uses."""
    import time

    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _now() -> float:
    """The clock of the engine in this process; without this package the system's."""
    try:
        from roastcoffea._core import now
    except Exception:
        from time import time as now
    return now()


async def _put_on(order: dict[str, Any], dask_scheduler: Any) -> dict[str, Any]:
    found = {**look(dask_scheduler), "unsampled": None, "unshown": None}
    if found["problem"] is not None or order["name"] in dask_scheduler.plugins:
        return found
    import importlib

    from roastcoffea.backends.dask.scheduler import RunPlugin

    plugin = RunPlugin(order["name"], order["topic"], order["client"], order["message_limit"])
    try:
        await plugin.start(dask_scheduler)
        dask_scheduler.add_plugin(plugin, name=plugin.name)
    except Exception as error:
        try:
            plugin.remove()
        except Exception:  # it had not even begun
            pass
        return {**found, "problem": f"{type(error).__name__}: {error}"}
    try:
        if order["page"] is not None:
            importlib.import_module(order["page"]).put_on(dask_scheduler)
        plugin.show(order["label"], order["page"] is not None, order["workers"])
    except Exception as error:
        found["unshown"] = f"{type(error).__name__}: {error}"
    if order["interval"] is not None:
        try:
            plugin.start_sampling(order["interval"])
        except Exception as error:
            found["unsampled"] = f"{type(error).__name__}: {error}"
    return found


def fetch_news(name: str, got: int, dask_scheduler: Any) -> Any:
    """The news of our plugin for a client that has all batches up to number `got`, and the tries that failed so far."""
    plugin = dask_scheduler.plugins[name]
    return plugin.hand_over(got), plugin.failures()


async def discard(order: dict[str, Any], dask_scheduler: Any) -> None:
    """Removes our plugin, if it is still there, and the topic. The order to put it there may arrive later than this."""
    import asyncio

    _discarded().append(order["name"])
    plugin = dask_scheduler.plugins.get(order["name"])
    if plugin is not None:
        plugin.remove()
        return
    topics, topic = getattr(getattr(dask_scheduler, "_broker", None), "_topics", {}), order["topic"]
    dask_scheduler.unsubscribe_topic(topic, order["client"])
    topics.pop(topic, None)
    # A task that still runs may send something more.
    asyncio.get_running_loop().call_later(60, topics.pop, topic, None)
    if order["forget"] is not None:
        await ask_counters({**order, "ask": order["forget"]}, list(dask_scheduler.workers), dask_scheduler)


def sample(since: float, dask_scheduler: Any) -> dict[str, Any]:
    """All workers as plain numbers, and who came and went, for how many seconds, since ``since`` by the
    system's clock. The moment is one of the steady clock."""
    import time

    rows = {}
    for address, worker in dask_scheduler.workers.items():
        metrics = worker.metrics or {}
        net = metrics.get("host_net_io") or {}
        disk = metrics.get("host_disk_io") or {}
        row = {
            "host": worker.host,
            "memory": metrics.get("memory"),
            "memory_limit": worker.memory_limit,
            "active_tasks": len(worker.processing),
            "cores": worker.nthreads,
            "nbytes": worker.nbytes,
            "occupancy": worker.occupancy,
            "executing": len(worker.executing),
            "last_seen": worker.last_seen,
            "cpu": metrics.get("cpu"),
            "spilled_bytes": (metrics.get("spilled_bytes") or {}).get("disk"),
            "net_read_bps": net.get("read_bps"),
            "net_write_bps": net.get("write_bps"),
            "disk_read_bps": disk.get("read_bps"),
            "disk_write_bps": disk.get("write_bps"),
        }
        rows[address] = {column: value for column, value in row.items() if value is not None}
    changes, now = [], time.time()
    for when, change in dask_scheduler.get_events("all"):
        if when > since and change.get("action") in ("add-worker", "remove-worker"):
            changes.append((now - when, change["action"] == "add-worker", change["worker"]))
    return {"when": _steady(), "since": now, "rows": rows, "changes": changes}


async def finish(order: dict[str, Any], dask_scheduler: Any) -> dict[str, Any]:
    """The end of a run: asks all workers for what they hold back, where that is ordered, then reads the span, the
    messages, the series and the attempts. All of it can be asked again until the plugin is removed."""
    plugin = dask_scheduler.plugins.get(order["name"])
    extension = dask_scheduler.extensions.get("spans")
    span = extension.spans.get(order["span"]) if extension is not None else None
    result: dict[str, Any] = {}
    if order["name"] in _discarded():  # the client did not wait
        return result
    if order["ask"] is not None:
        answers = await _ask_all(order, span, dask_scheduler)
        if plugin is not None and order["name"] in _discarded():
            plugin.remove()  # the client did not wait; the workers have sent something meanwhile
            return result
        told = [address for address, answer in answers.items() if answer["told"]]
        if plugin is not None:
            result["unheard"] = await plugin.wait_for_round(order["round"], told, order["timeout"])
        result.update(answers=answers, told=told)
        result["counters"] = {"scheduler": read_counters(),
                              **{address: answer.pop("counters", None) for address, answer in answers.items()}}
    result["clocks"] = _clocks(result.get("answers", {}), plugin)
    if order["span"] is not None:
        result.update(_task_counts(order, plugin, span, dask_scheduler))
    if span is not None:
        result.update(await _read_span(span, result, dask_scheduler))
    if plugin is not None:
        plugin.retire()
        result["batches"] = plugin.hand_over(order["got"])
        result["attempts"] = plugin.stop_watching()
        result["unread_steps"] = plugin.unread_steps
        result["seen_counters"] = plugin.seen_counters
        result["departed"] = plugin.left
    return result


async def _ask_all(order: dict[str, Any], span: Any, scheduler: Any) -> dict[str, dict[str, Any]]:
    """The answer of each worker; ``silent`` are those that have not answered in time."""
    import asyncio

    span_ids = [one.id for one in span.traverse_spans()] if span is not None else None
    asked = {
        address: asyncio.ensure_future(_ask(order, span_ids, address, scheduler))
        for address in scheduler.workers
    }
    slow = asked.keys() & order["silent"]
    for group, patience in ((asked.keys() - slow, order["timeout"]), (slow, 0.5)):
        if group:
            await asyncio.wait([asked[address] for address in group], timeout=patience)
    answers = {}
    for address, task in asked.items():
        answer: dict[str, Any] = {"told": False, "totals": None, "forced": False, "problem": None}
        answer["silent"] = not task.done()
        if not task.done():
            task.cancel()
        elif task.exception() is not None:
            answer["problem"] = repr(task.exception())
        else:
            answer.update(task.result())
        answers[address] = answer
    return answers


def _clocks(answers: dict[str, dict[str, Any]], plugin: Any) -> dict[str, tuple[float, float]]:
    """By how many seconds the clock of each worker is behind, and how many that may be wrong by. Of those that
    have left or are silent there is Dask's own estimate: the first one, when a worker comes, holds some seconds
    in which a busy machine finds out what the worker has."""
    seen = {} if plugin is None else {address: (delay, 5.0) for address, delay in plugin.delays.items()}
    for address, answer in answers.items():
        if "asked" in answer:
            asked, begun, ended, answered = (
                answer[name] for name in ("asked", "begun", "ended", "answered")
            )
            # As if both ways had taken the same time.
            seen[address] = ((asked - begun + answered - ended) / 2, (answered - asked) - (ended - begun))
    return seen


async def _ask(
    order: dict[str, Any], span_ids: list[str] | None, address: str, scheduler: Any
) -> dict[str, Any]:
    """Runs `finish_worker` on one worker."""
    import pickle

    kwargs = {
        "name": order["name"],
        "topic": order["topic"],
        "round_id": order["round"],
        "address": address,
        "span_ids": span_ids,
    }
    asked = order["zero"] + _steady()
    answer = await run_on_worker(order["ask"], pickle.dumps(kwargs), address, scheduler)
    times = {"asked": asked, "answered": order["zero"] + _steady()}
    return {**answer, **times} if isinstance(answer, dict) else {"problem": answer}


async def run_on_worker(function: bytes, kwargs: bytes, address: str, scheduler: Any) -> Any:
    """What a pickled function returns on one worker; in words, why it did not."""
    import pickle

    from distributed.protocol.serialize import Serialize, Serialized, deserialize

    message = {"op": "run", "function": function, "args": pickle.dumps(()), "kwargs": kwargs, "wait": True}
    answers = await scheduler.broadcast(msg=message, workers=[address], on_error="return")
    answer = answers[address]
    if isinstance(answer, Exception):
        return f"{type(answer).__name__}: {answer}"
    if answer["status"] != "OK":
        return str(answer.get("exception_text", answer["status"]))
    packed = answer["result"]
    unpack: Any = deserialize
    if isinstance(packed, Serialized):
        return unpack(packed.header, packed.frames)
    return packed.data if isinstance(packed, Serialize) else packed


async def ask_counters(order: dict[str, Any], addresses: list[str], scheduler: Any) -> dict[str, Any]:
    """Runs `begin_worker` on these workers. A worker that does not answer in time is missing."""
    import asyncio
    import pickle

    kwargs = pickle.dumps({"name": order["name"], "topic": order["topic"]})
    asked = {
        address: asyncio.ensure_future(run_on_worker(order["ask"], kwargs, address, scheduler)) for address in addresses
    }
    if asked:
        await asyncio.wait(asked.values(), timeout=order["timeout"])
    for task in asked.values():
        task.cancel()
    answers = {address: task.result() for address, task in asked.items() if task.done() and not task.exception()}
    return {address: answer for address, answer in answers.items() if isinstance(answer, dict)}


def _task_counts(order: dict[str, Any], plugin: Any, span: Any, scheduler: Any) -> dict[str, Any]:
    """Which tasks of the span Dask counts elsewhere, and which of others in it. Without our plugin:
    as far as the tasks are still there."""
    if plugin is not None:
        merged, mixed, left = plugin.about_span(order["span"])
        return {"merged": merged, "mixed": mixed, "left": left}
    own = [one.id for one in span.traverse_spans()] if span is not None else []
    merged = {}
    for task in scheduler.tasks.values():
        mark = (task.annotations or {}).get(order["annotation"]) or {}
        if mark.get(order["name"]) == order["span"] and task.group.span_id not in own:
            merged[task.group.name] = merged.get(task.group.name, 0) + 1
    return {"merged": merged, "mixed": {}, "left": []}


async def _read_span(span: Any, result: dict[str, Any], scheduler: Any) -> dict[str, Any]:
    """The metrics of a span, when all that the workers have measured of it is here."""
    import asyncio

    from distributed.scheduler import heartbeat_interval

    answers = result.get("answers", {}).values()
    interval = heartbeat_interval(len(scheduler.workers))
    complete = all(answer["totals"] is not None for answer in answers)
    totals: dict[Any, float] = {}
    for answer in answers:
        for key, value in (answer["totals"] or {}).items():
            totals[key] = totals.get(key, 0) + value
    # Figures of a worker that has left would hide how much is missing from the others.
    forced = all(answer["forced"] for answer in answers)
    if not complete or (not forced and result["left"]):
        await asyncio.sleep(interval)
    # A heartbeat that the worker sent by itself, just before ours, may not have arrived yet.
    loop = asyncio.get_running_loop()
    end = loop.time() + 2 * interval
    while _is_short(span, totals) and loop.time() < end:
        await asyncio.sleep(0.002)
    metrics = dict(span.cumulative_worker_metrics)
    for key, value in totals.items():
        metrics[key] = max(metrics.get(key, 0), value)
    return {"metrics": metrics, "ran": span.start > 0, "complete": complete, "interval": interval}


def _is_short(span: Any, totals: dict[Any, float]) -> bool:
    there: dict[Any, float] = {}
    for one in span.traverse_spans():
        for key, value in one._cumulative_worker_metrics.items():
            there[key] = there.get(key, 0) + value
    return any(there.get(key, 0) < value * (1 - 1e-9) for key, value in totals.items())


# ---- on a worker ----

def has_us() -> bool:
    """Whether this package can be imported, with its engine; it is not imported."""
    import importlib.util
    import os

    try:
        spec = importlib.util.find_spec("roastcoffea")
    except ImportError:
        return False
    folders = spec.submodule_search_locations if spec is not None else None
    return any(name.startswith("_core.") for folder in folders or () for name in os.listdir(folder))


def read_counters() -> dict[str, Any]:
    """CPU seconds that this process has used; which process it is; and the counters of its machine, as the kernel
    writes them."""
    import os
    import socket
    import time

    machine: dict[str, Any] = {}
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # containers of one machine have the same
            machine["boot"] = file.read(64).strip()
        with open("/proc/stat") as file:
            machine["stat"] = file.readline(1024)
        machine["cores"] = len(os.sched_getaffinity(0))
    except (OSError, AttributeError):  # not Linux
        machine = {}
    return {"process": (socket.gethostname(), os.getpid()), "cpu": time.process_time(), **machine}


def begin_worker(dask_worker: Any, name: str, topic: str) -> dict[str, Any]:
    """The counters as the run begins, or when the worker joins. A worker that closes before the end sends them once
    more."""
    from distributed.diagnostics.plugin import WorkerPlugin

    def send(worker: Any) -> None:
        try:
            worker.log_event(topic, {"roastcoffea-counters": read_counters(), "worker": worker.address})
        except Exception:  # the worker closes all the same; that its counters are not known is a note
            pass

    farewell = WorkerPlugin()
    vars(farewell)["teardown"] = send
    dask_worker.plugins[name] = farewell
    return read_counters()


def forget_worker(dask_worker: Any, name: str, topic: str) -> None:
    """Takes back what `begin_worker` left on the worker."""
    dask_worker.plugins.pop(name, None)


async def finish_worker(dask_worker: Any, name: str, **order: Any) -> dict[str, Any]:
    """Sends the records that are held back, with a mark behind them, and what was measured of a
    span; when this began and ended by the clock of the worker, and its counters."""
    counters = read_counters()  # first: loading this package may take CPU time
    begun = _now()
    forget_worker(dask_worker, name, order["topic"])
    answer = await _send_rest(dask_worker, **order)
    return {**answer, "begun": begun, "ended": _now(), "counters": counters}


async def _send_rest(
    dask_worker: Any,
    topic: str,
    round_id: str,
    address: str,
    span_ids: list[str] | None,
) -> dict[str, Any]:
    import asyncio
    import inspect
    import sys

    from distributed.utils import set_thread_state

    answer: dict[str, Any] = {"totals": {}}
    try:
        # Where the engine was never loaded, no record was made. The channel is loaded with the
        # first record that is sent: those held back may be older.
        if "roastcoffea._core" in sys.modules:
            from roastcoffea.worker import channel

            # As in a task: records are sent through this worker.
            with set_thread_state(execution_state={"worker": dask_worker}):
                channel.close(topic)
    except Exception as error:
        answer["problem"] = f"{type(error).__name__}: {error}"
    # Calls that threads have queued in the event loop run first.
    await asyncio.sleep(0)
    dask_worker.log_event(topic, {"roastcoffea-round": round_id, "worker": address})
    answer["told"] = True
    if span_ids is None:
        return answer
    answer["totals"] = {
        key[:1] + key[2:]: value
        for key, value in dask_worker.digests_total.items()
        if isinstance(key, tuple) and len(key) > 2 and key[1] in span_ids
    }
    # Two heartbeats at once that wait for asynchronous metrics end the worker: Dask asserts that
    # there is but one. Then the next one of its own has to do.
    metrics = dask_worker.metrics.values()
    if not any(inspect.iscoroutinefunction(metric) for metric in metrics):
        await dask_worker.heartbeat()
        answer["forced"] = True
    return answer
