"""The board, asked for more than it gives: by queries, and by measurements that are not what they seem."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_board import NO_LIMITS, Asked, board, folder, growing, side_by_side  # noqa: F401
from test_trend import save

from roastcoffea import _core
from roastcoffea.web import _ask, _helper, _server

# ---- SQL ----


@NO_LIMITS
def test_sql_that_never_ends(board, monkeypatch):
    monkeypatch.setattr(_ask, "SECONDS", 1)
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    status, told, _ = board.get("api/sql/run009?" + urllib.parse.urlencode({"q": endless}))
    assert status == 400 and "time" in told["error"]
    monkeypatch.setattr(_ask, "MEMORY", 256 << 20)
    large = "select length(group_concat(zeroblob(1000000))) from (with recursive n(i) as (select 1 union all select i + 1 " \
            "from n where i < 900) select i from n)"
    assert board.get("api/sql/run009?" + urllib.parse.urlencode({"q": large}))[0] == 400
    assert board.get("api/runs")[0] == 200


@NO_LIMITS
def test_a_large_answer_is_not_read_to_its_end(board, monkeypatch):
    monkeypatch.setattr(_ask, "ANSWER", 3 << 20)
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 150) select hex(zeroblob(500000)) x from n"
    for form in ("json", "csv"):
        status, told, _ = board.get("api/sql/run009?" + urllib.parse.urlencode({"q": rows, "form": form}))
        assert status == 400 and "larger than 3 MB" in told["error"]


@NO_LIMITS
def test_few_queries_run_at_once(board, monkeypatch):
    running, most, run = [], [], _ask._run

    async def counted(*arguments):
        running.append(1)
        most.append(len(running))
        try:
            return await run(*arguments)
        finally:
            running.pop()

    monkeypatch.setattr(_ask, "_run", counted)
    slow = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) select count(*) from n"
    answers = side_by_side(lambda: board.get("api/sql/run009?" + urllib.parse.urlencode({"q": slow}))[0], 12)
    assert answers == [200] * 12 and max(most) <= 2


# ---- measurements that ask for too much ----


def peak_from_now():
    Path("/proc/self/clear_refs").write_text("5")
    before = _core.get_process_memory()
    return lambda: float(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6 - before


def save_with_extras(path, extras):
    run = _core.Run(t_start=1.79e9, t_end=1.79e9 + 9, chunks=[{"duration": 1.0, "num_events": 3}])
    _core.save_measurement(run, path, extras=extras)
    assert sum(file.stat().st_size for file in path.iterdir()) < 150_000


def greedy_json(size):
    """What takes a hundred times as much memory as objects."""
    return b'{"metrics":[["x",[' + b",".join([b"[[]]"] * (size // 5)) + b']]],"absent":[],"times":[1,2]}'


@NO_LIMITS
def test_a_small_file_that_asks_for_much(tmp_path, monkeypatch):
    """Others are answered meanwhile, and nothing of it stays in the board."""
    monkeypatch.setattr(_helper, "SECONDS", 10)
    monkeypatch.setattr(_helper, "MEMORY", 1 << 30)
    monkeypatch.setattr(_server, "FIRST_WAIT", 60)
    save_with_extras(tmp_path / "greedy", greedy_json(57_000_000))
    save(tmp_path, 1, 7.0)
    asked = Asked(tmp_path)
    try:
        assert asked.get("run/run001", timeout=90)[0] == 200
        peak = peak_from_now()
        for page in ("run/greedy", "api/run/greedy", "compare?run=greedy&run=run001", "scaling?run=greedy&run=run001"):
            with ThreadPoolExecutor(1) as pool:
                answer = pool.submit(asked.get, page, timeout=90)
                while not answer.done():
                    assert asked.get("api/runs")[0] == 200
            status, told, _ = answer.result()
            assert status == 422 and "10 seconds and 1 GB of memory" in str(told), page
        assert peak() < 300
        assert asked.get("run/run001")[0] == 200 and asked.get("api/run/run001")[0] == 200
    finally:
        asked.link.close()


@NO_LIMITS
def test_a_live_run_that_asks_for_much(growing, tmp_path, monkeypatch):
    monkeypatch.setattr(_helper, "MEMORY", 1 << 29)
    save(tmp_path, 1, 7.0)
    asked = Asked(tmp_path)
    try:
        growing.grow(5)
        assert "5 of 40" in asked.get("api/run/live", timeout=90)[1]["parts"]["progress"]
        packed = _core.ChunkLog([{"t_start": 1.79e9, "duration": 1.0, "num_events": 1}]).to_bytes()
        log = _core.ChunkLog.from_bytes(packed)
        while len(log) < 8_000_000:
            log += log
        peak = peak_from_now()
        growing.live.append(_core.Run(chunks=log))
        taken = peak()
        status, told, _ = asked.get("api/run/live", timeout=90)
        assert status == 422 and "0.5 GB of memory" in told["error"]
        assert peak() < taken + 300
        assert asked.get("run/run001", timeout=90)[0] == 200
    finally:
        asked.link.close()


@NO_LIMITS
def test_the_memory_of_a_large_answer(board):
    for columns, status in ((120, 200), (600, 400)):
        rows = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000) select "
                + ", ".join(f"1 c{i}" for i in range(columns)) + " from n")
        peak = peak_from_now()
        assert board.get("api/sql/run009?" + urllib.parse.urlencode({"q": rows}), timeout=90)[0] == status
        assert peak() < 250


def test_a_helper_that_ended_is_replaced(folder):
    async def use():
        helper = _helper.Helper()
        path = str(Path(folder) / "run009")
        try:
            assert "budget" in json.loads(await helper.ask("look at all", path))[0]
            with pytest.raises(_helper.Unmade, match="does not exist"):
                await helper.ask("look at all", f"{path}/none")
            first = helper._process
            first.stdin.close()  # as if it had been idle for long
            assert await first.wait() == 0
            assert await helper.ask("look at all", path) and helper._process is not first
            first = helper._process
            first.send_signal(signal.SIGSTOP)  # it can no longer answer
            asked = asyncio.ensure_future(helper.ask("look at all", path))
            await asyncio.sleep(0)  # it has begun
            first.kill()
            with pytest.raises(_helper.Unmade, match="seconds and"):
                await asked
            assert await helper.ask("look at all", path)
            last = helper._process
            last.send_signal(signal.SIGSTOP)
            asked = asyncio.ensure_future(helper.ask("look at all", path))
            await asyncio.sleep(0)
        finally:
            await helper.close()
        assert last.returncode is not None
        with pytest.raises(_helper.Unmade):
            await asked
        with pytest.raises(_helper.Unmade, match="has ended"):
            await helper.ask("look at all", path)

    asyncio.run(use())


# ---- refusals ----
