"""The board, asked over HTTP: what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from interrupting import interrupts_are_heard  # noqa: F401
from leaks import assert_nothing_is_kept
from test_trend import save

import roastcoffea
from roastcoffea import _core
from roastcoffea.web import _ask, _helper, _index, _live, _pages, _server
from roastcoffea.web._access import Access, policy_of
from roastcoffea.web._index import FIGURES, KEYS, Index, Unreadable


if "asan" in os.environ.get("LD_PRELOAD", ""):
    _helper.MEMORY = resource.RLIM_INFINITY
NO_LIMITS = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="ASan cannot live with a limit of memory")


class Asked:
    """A board, and one who asks it."""

    def __init__(self, folder, **options):
        self.link = roastcoffea.board(folder, **options)
        found = urllib.parse.urlsplit(self.link.url)
        self.port, self.base = found.port, found.path
        self.token = urllib.parse.parse_qs(found.query)["token"][0]

    def get(self, path, token=True, method="GET", timeout=30, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            given = {"Authorization": f"token {self.token}"} if token is True else {}
            connection.request(method, self.base + path, headers=given | {key.replace("_", "-"): value
                                                                          for key, value in headers.items()})
            answer = connection.getresponse()
            body = answer.read().decode()
            return answer.status, json.loads(body) if "json" in answer.headers.get("Content-Type", "") else body, answer.headers
        finally:
            connection.close()


def side_by_side(call, count):
    with ThreadPoolExecutor(count) as pool:
        return [one.result() for one in [pool.submit(call) for _ in range(count)]]


def open_files():
    return len(os.listdir("/proc/self/fd"))


def wait_until(done):
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("board")
    for number in range(4):
        save(folder / "nightly", number, 100 - number)
    save(folder, 9, 5.0, outcome="failed", processor="<b>Bold</b>")
    return folder


@pytest.fixture(scope="module")
def board(folder):
    asked = Asked(folder)
    yield asked
    asked.link.close()


# ---- answers ----


def test_the_list_of_runs(board):
    status, told, _ = board.get("api/runs")
    assert status == 200 and told["all"]
    rows = {row[0]: dict(zip(told["keys"], row)) for row in told["rows"]}
    assert sorted(rows) == [*(f"nightly/run00{i}" for i in range(4)), "run009"]
    assert rows["run009"]["outcome"] == "failed" and rows["nightly/run001"]["wall_time"] == pytest.approx(99)
    for row in rows.values():  # numbers look as in the report
        for key in FIGURES.keys() - {"total_events", "core_efficiency"}:
            unit = next(one["unit"] for one in _core.catalogue() if one["key"] == key)
            assert row[f"{key}_text"] == _core.format_value(row[key], unit)
        assert row["core_efficiency_text"] == (f"{100 * row['core_efficiency']:.1f} %" if row["core_efficiency"] else "-")
    assert rows["nightly/run001"]["wall_time_text"] == "1.65 min"
    status, told, _ = board.get(f"api/runs?since={told['version']}")
    assert (told["rows"], told["gone"], told["all"]) == ([], [], False)


def test_pages(board):
    for path, words in (("", "Runs"), ("run/nightly/run000", "Dimuon"), ("ask/run009", "SQLite"),
                        ("compare?run=nightly/run000&run=nightly/run001", "Comparison"),
                        ("scaling?run=nightly/run000&run=nightly/run001", "Scaling"), ("static/board.js", "use strict")):
        status, body, headers = board.get(path)
        assert status == 200 and words in body, path
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        scripts = policy.partition("script-src ")[2].partition(";")[0]
        assert "unsafe" not in scripts
        for script in re.findall("<script>(.*?)</script>", body, re.DOTALL):
            assert policy_of([script]).partition("'sha256-")[2].partition("'")[0] in scripts
    _, body, _ = board.get("compare?" + "&".join(f"run=nightly/run00{i}" for i in (3, 0, 1)))
    assert "A and B1: " in body and "A and B2: " in body and "run003" in body
    _, body, _ = board.get("run/run009")
    assert "<b>Bold" not in body and "&lt;b&gt;Bold" in body


def test_a_run_that_goes_on_is_told_in_parts(board):
    status, told, _ = board.get("api/run/nightly/run002")
    assert status == 200 and told["state"] == "finished"
    assert {"progress", "budget"} <= set(told["parts"]) and list(told["parts"]) == told["order"]
    _, again, _ = board.get(f"api/run/nightly/run002?since={told['version']}")
    assert again["parts"] == {} and again["order"] == told["order"]


@NO_LIMITS
def test_sql(board):
    ask = "api/sql/run009?" + urllib.parse.urlencode({"q": "select value from metrics where key = 'wall_time'"})
    assert board.get(ask)[1] == {"columns": ["value"], "rows": [[5.0]], "more": False}
    assert board.get(ask + "&form=csv")[1].split() == ["value", "5.0"]
    many = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    status, told, _ = board.get("api/sql/run009?" + urllib.parse.urlencode({"q": many}))
    assert status == 200 and len(told["rows"]) == _ask.ROWS and told["more"]
    lines = board.get("api/sql/run009?form=csv&" + urllib.parse.urlencode({"q": many}))[1].splitlines()
    assert len(lines) == _ask.ROWS + 2 and lines[-1].startswith("# there are more rows")
    for query, words in (("delete from chunks", "SELECT"), ("", "no query"), ("--help", ""), ("select 1; select 2", "")):
        status, told, _ = board.get("api/sql/run009?" + urllib.parse.urlencode({"q": query}))
        assert status == 400 and words in told["error"], query
    assert "metrics" in board.get("api/tables/run009")[1]


@NO_LIMITS
def test_columns_of_an_answer(board):
    def asked(query, form="json"):
        status, told, _ = board.get("api/sql/run009?" + urllib.parse.urlencode({"q": query, "form": form}))
        assert status == 200, told
        return (told["columns"], told["rows"]) if form == "json" else told

    assert asked("select 'x' a, 'y' a") == (["a", "a"], [["x", "y"]])
    assert asked("select 2, 1, null") == (["2", "1", "null"], [[2, 1, None]])
    assert asked("select 1 a, 2 'b, c' where 0") == (["a", "b, c"], [])
    assert asked("select 9007199254740993 a, -9007199254740993, 12") == (
        ["a", "-9007199254740993", "12"], [["9007199254740993", "-9007199254740993", 12]])
    assert asked("select '=1+1' a, -1 b", "csv").split() == ["a,b", "'=1+1,-1"]


def test_the_list_does_not_wait_for_reports(board, monkeypatch):
    gate, begun, ask = threading.Event(), [], _helper.Helper.ask

    async def held(self, what, *arguments):
        begun.append(what)
        assert await asyncio.to_thread(gate.wait, 60)
        return await ask(self, what, *arguments)

    monkeypatch.setattr(_helper.Helper, "ask", held)
    names = iter(("run001", "run002", "run003"))
    asked = threading.Thread(target=side_by_side, args=(lambda: board.get(f"run/nightly/{next(names)}", timeout=90), 3))
    asked.start()
    try:
        wait_until(lambda: len(begun) == 2)
        assert board.get("api/runs", timeout=20)[0] == 200
        assert board.get("ask/run009", timeout=20)[0] == 200
    finally:
        gate.set()
        asked.join()


# ---- refusals ----


def test_without_the_token_nothing_is_told(board):
    for path in ("", "run/run009", "api/runs", "api/sql/run009?q=select+1", "compare?run=run009&run=nightly/run000"):
        status, body, _ = board.get(path, token=False)
        # but what was asked for
        assert status == 403 and "run009" not in re.sub(r'name="run" value="[^"]*"', "", str(body)), path
    status, body, _ = board.get("?token=wrong", token=False)
    assert status == 403 and "not the token" in body
    # the rest of an address that was sent to a colleague is not lost
    _, body, _ = board.get("compare?run=a%22&run=b", token=False)
    assert 'type="hidden" name="run" value="a&quot;"' in body and 'name="run" value="b"' in body
    assert board.get("static/board.css", token=False)[0] == 200


def test_the_token_becomes_a_cookie(board):
    status, _, headers = board.get(f"run/run009?token={board.token}&x=1", token=False)
    assert status == 302 and headers["Location"] == "?x=1"
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and board.token not in cookie
    assert board.get("run/run009", token=False, Cookie=cookie.partition(";")[0])[0] == 200
    assert board.get("run/run009", token=False, Cookie=cookie.partition("=")[0] + "=wrong")[0] == 403
    # a proxy that has its own password passes it on
    assert board.get("run/run009", token=False, Cookie=cookie.partition(";")[0], Authorization="Basic abc")[0] == 200


def test_an_address_without_a_port(board, caplog, monkeypatch):
    status, _, headers = board.get(f"?token={board.token}", token=False, Host="[::1]")
    assert status == 302 and headers["Set-Cookie"].startswith("roast-board-80=")
    for host in ("localhost:none", "localhost:99999"):
        assert board.get(f"?token={board.token}", token=False, Host=host)[0] == 403
    monkeypatch.setattr(_pages.Pages, "runs", lambda self: 1 // 0)
    assert board.get(f"?token={board.token}&x", token=False, Authorization="token")[0] == 302
    monkeypatch.setattr(_server.Handler, "redirect", lambda self, to: 1 // 0)
    assert board.get(f"?token={board.token}", token=False)[0] == 500
    assert "ZeroDivisionError" in caplog.text and board.token not in caplog.text


def test_foreign_names_and_sites(board):
    assert board.get("", Host=f"evil.example:{board.port}")[0] == 403
    assert board.get("", Host=f"localhost:{board.port}")[0] == 200
    assert board.get("api/runs", Origin="http://evil.example")[0] == 403
    assert board.get("api/runs", Origin=f"http://127.0.0.1:{board.port}")[0] == 200
    assert board.get("api/runs", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert board.get("run/run009", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200


@pytest.mark.parametrize("path", ["run/../../etc/passwd", "run/..%2f..%2fetc", "run/%2e%2e/secret", "run//etc", "run/nightly",
                                  "run/", "static/..%2f_server.py", "static/_server.py", "nothing", "api/run/none"])
def test_nothing_else_can_be_reached(board, path):
    assert board.get(path)[0] == 404


def test_nothing_can_be_changed(board):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert board.get("run/run009", method=method)[0] in (403, 405)


def test_links_and_pipes_are_not_read(folder, tmp_path):
    place = tmp_path / "shared"
    shutil.copytree(folder / "nightly", place)
    secret = save(tmp_path / "outside", 1, 7.0)
    (place / "link").symlink_to(secret)
    shutil.copytree(secret, place / "inner")
    (place / "inner" / "run.sqlite").unlink()
    (place / "inner" / "run.sqlite").symlink_to(secret / "run.sqlite")
    save(place, 50, 8.0)
    (place / "run050" / "extra").unlink(missing_ok=True)
    os.mkfifo(place / "run050" / "extra")
    for number, file in ((51, "run.sqlite"), (52, "metadata.json")):
        save(place, number, 8.0)
        (place / f"run0{number}" / file).unlink()
        os.mkfifo(place / f"run0{number}" / file)
    index = Index(place)
    assert "link" not in [row[0] for row in index.since(0)["rows"]]
    for name in ("link", "inner", "run050", "run051", "run052"):
        with pytest.raises(Unreadable):
            index.find(name)


@NO_LIMITS
def test_names_with_blanks_and_bytes(tmp_path):
    """Every run that is listed can be opened, asked and compared."""
    odd = [b" blank ", b"line\nbreak", b"caf\xe9", b"plain"]
    for number, name in enumerate(odd):
        os.rename(save(tmp_path, number, 5.0), os.path.join(os.fsencode(tmp_path), name))
    os.rename(save(tmp_path / "deep", 1, 5.0), os.path.join(os.fsencode(tmp_path), b"deep", b"\xff"))
    asked = Asked(tmp_path)
    try:
        names = sorted(row[0] for row in asked.get("api/runs")[1]["rows"])
        assert names == sorted([" blank ", "line\nbreak", "caf\ufffd", "plain", "deep/\ufffd"])
        for name in names:
            for page in ("run", "ask", "api/run", "api/tables"):
                assert asked.get(f"{page}/{urllib.parse.quote(name)}")[0] == 200, (page, name)
        for page in ("compare", "scaling"):
            status, body, _ = asked.get(f"{page}?" + urllib.parse.urlencode([("run", name) for name in names]))
            assert status == 200, body
        shutil.rmtree(os.path.join(os.fsencode(tmp_path), b"caf\xe9"))
        time.sleep(1.1)
        assert asked.get("api/runs?since=1")[1]["gone"] == ["caf\ufffd"]
    finally:
        asked.link.close()


def test_a_measurement_that_vanishes_or_is_damaged(tmp_path):
    for number in range(3):
        save(tmp_path, number, 10.0)
    asked = Asked(tmp_path)
    try:
        assert asked.get("run/run000")[0] == 200
        shutil.rmtree(tmp_path / "run000")
        whole = (tmp_path / "run001" / "run.sqlite").read_bytes()
        (tmp_path / "run001" / "run.sqlite").write_bytes(whole[:5000])
        assert asked.get("run/run000")[0] in (404, 422)
        status, body, _ = asked.get("run/run001")
        assert status == 422 and "Cannot be shown" in body
        assert asked.get("api/run/run001")[0] == 422
        assert asked.get("compare?run=run001&run=run002")[0] == 422
        assert asked.get("compare?run=run002")[0] == 400
        time.sleep(1.1)
        told = asked.get("api/runs?since=1")[1]
        assert told["gone"] == ["run000"]
        assert asked.get("run/run002")[0] == 200
    finally:
        asked.link.close()


def test_a_thousand_connections_and_clients_that_read_slowly(board):
    """Half of them have sent a part of a request; twenty more ask for a report and read nothing of it."""
    address, before = ("127.0.0.1", board.port), open_files()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    _server.allow_connections()  # which a program does, and a notebook does not
    ask = f"GET /run/nightly/run000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {board.token}\r\n\r\n".encode()
    held = []
    try:
        for _ in range(20):
            slow = socket.socket()
            held.append(slow)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.settimeout(60)
            slow.connect(address)
            slow.sendall(ask)
        held += [socket.create_connection(address, timeout=60) for _ in range(1000)]
        for one in held[20::2]:
            one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
        assert board.get("api/runs")[0] == 200
        assert held[0].recv(9) == b"HTTP/1.1 "
        assert board.get("run/nightly/run001")[0] == 200
    finally:
        for one in held:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert board.get("api/runs")[0] == 200
    wait_until(lambda: open_files() <= before + 8)  # of all of them nothing is kept


def test_another_base(folder):
    asked = Asked(folder, base_url="/user/me/proxy/8799")
    try:
        assert asked.base == "/user/me/proxy/8799/"
        _, body, _ = asked.get("")
        assert 'href="/user/me/proxy/8799/static/board.css"' in body and 'data-base="/user/me/proxy/8799/"' in body
        assert "/user/me/proxy/8799/ask/run009" in asked.get("run/run009")[1]
        # for a notebook, which knows the server that shows it, and not the port
        assert f'href="/user/me/proxy/8799/?token={asked.token}"' in asked.link._repr_html_()
        # a proxy that takes its path off
        asked.base = "/"
        status, body, _ = asked.get("run/run009")
        assert status == 200 and "/user/me/proxy/8799/ask/run009" in body
        for path in ("", "user/me/proxy/8799/"):
            headers = asked.get(f"{path}run/run009?token={asked.token}", token=False)[2]
            assert headers["Location"] == "?"
            assert "Path=/user/me/proxy/8799/" in headers["Set-Cookie"]
    finally:
        asked.link.close()


# ---- a run that goes on ----


class Growing:
    """A measurement that is being written; all of it at the end."""

    def __init__(self, path, start=1.79e9):
        self.path, self.start, self.pieces, self.done = path, start, 40, 0
        self.live = _core.LiveMeasurement(path)
        self.grow(0)

    def grow(self, count=5, failed=()):
        news = [self._chunk(self.done + i, self.done + i in failed) for i in range(count)]
        self.done += count
        now = self.start + 10 + self.done
        moment = datetime.fromtimestamp(now, UTC)
        samples = {"worker_counts": {moment: 3}, "worker_memory": {"tcp://w3": [(moment, 1e6 * (1 + self.done))]}}
        self.live.append(_core.Run(
            t_start=self.start, t_end=now, chunks=news, series=samples, meta={"processor": "Live"},
            report={"chunks": self.done, "entries": 100 * self.done},
            ending={"pieces": self.pieces, "pieces_done": self.done}))

    def _chunk(self, number, failed):
        start = self.start + 10 + number
        made = {"t_start": start, "t_end": start + 1, "duration": 1.0, "num_events": 100 + number,
                "dataset": "<i>data</i>", "file": f"f{number % 3}.root", "worker": f"tcp://w{number % 4}", "entry_start": 0,
                "entry_stop": 100}
        return made | ({"error": f"ValueError: <b>bad</b> {number}"} if failed else {})


@pytest.fixture
def growing(tmp_path):
    made = Growing(tmp_path / "live")
    yield made
    made.live = None


def test_news_add_up_to_the_whole(growing, monkeypatch):
    read, load_news = [], _core.load_news

    def counted(path, after):
        found = load_news(path, after)
        read.append(len(found[0].chunk_columns(["t_start"])))
        return found

    monkeypatch.setattr(_core, "load_news", counted)
    follows = _live.LiveRun(str(growing.path))
    follows.look()
    for failed in ((), (7, 8), (), range(15, 20), ()):
        growing.grow(5, failed)
        parts = follows.look()
    assert read == [0, 5, 5, 5, 5, 5]  # each chunk once
    assert parts == _live.LiveRun(str(growing.path)).look()
    assert "25 of 40 chunks done" in parts["progress"] and 'value="25"' in parts["progress"]
    assert "about 15.0 s left" in parts["progress"]
    assert "&lt;b&gt;bad&lt;/b&gt; 19" in parts["failures"] and parts["failures"].count("<li>") == 7
    assert "<b>" not in parts["failures"] and "<i>data" not in parts["failures"]
    assert parts["workers"].count("tcp://w") == 4 and "<polyline" in parts["time"]
    assert "3 now" in parts["workers"] and ">26.0 MB<" in parts["workers"]


def test_before_the_first_chunk_there_is_nothing_to_find(growing):
    def parts():
        return _live.in_order(_live.look_at_all(str(growing.path))[0] | run.look())

    run = _live.LiveRun(str(growing.path))
    assert "The first chunk is awaited." in parts()["progress"]
    assert "findings" not in parts() and "not complete" not in str(parts())
    growing.grow(5)
    assert "about 35.0 s left" in run.look()["progress"]
    assert "findings" in parts()


def test_the_parts_of_a_run_that_goes_on_need_no_chart_of_tasks(growing, monkeypatch):
    growing.grow(5)
    monkeypatch.setattr("roastcoffea.visualization.binning.tasks", lambda *_: pytest.fail("the chart of tasks is not on this page"))
    assert _live.look_at_all(str(growing.path))[0]["findings"]


def test_times_become_coarser_but_nothing_is_lost():
    grid, whole = _live.Grid(), _live.Grid()
    starts = np.linspace(0, 5000, 700)
    for part in np.array_split(starts, 50):
        grid.add(part, part + 3, np.full(len(part), 2.0))
    whole.add(starts, starts + 3, np.full(len(starts), 2.0))
    assert len(grid.sums) <= _live.BINS and grid.width == whole.width and grid.first == whole.first
    np.testing.assert_allclose(grid.sums, whole.sums)
    assert grid.sums.sum() == pytest.approx(1400)
    grid.add(np.array([-40.0]), np.array([-39.0]), np.array([7.0]))  # one that comes late
    assert grid.sums.sum() == pytest.approx(1407) and grid.sums[0] == pytest.approx(7)


def test_another_run_under_the_same_name(growing, tmp_path):
    run = _live.LiveRun(str(growing.path))
    growing.grow(20)
    assert "20 of 40" in run.look()["progress"]
    growing.live.abandon()
    growing.__init__(growing.path, 1.8e9)
    growing.grow(5)
    parts = run.look()
    assert "5 of 40" in parts["progress"] and parts == _live.LiveRun(str(growing.path)).look()


def test_all_chunks_are_looked_at_seldom(growing, tmp_path, monkeypatch):
    asked, looks, ask = Asked(tmp_path), [], _helper.Helper.ask

    async def counted(self, what, *arguments):
        told = await ask(self, what, *arguments)
        if what != "look at all":
            return told
        looks.append(1)
        parts, pause = json.loads(told)
        assert pause > 0
        return json.dumps([parts, 1e9])

    monkeypatch.setattr(_helper.Helper, "ask", counted)
    monkeypatch.setattr(_server, "FIRST_WAIT", 60)
    try:
        told = asked.get("api/run/live")[1]
        assert told["state"] == "live" and "progress" in told["parts"]
        for _ in range(3):
            growing.grow(5)
            told = asked.get(f"api/run/live?since={told['version']}")[1]
            assert {"progress", "workers", "time"} <= set(told["parts"]) and "tiles" not in told["parts"]
        assert looks == [1]
    finally:
        asked.link.close()


def test_a_large_run_tells_how_old_it_is(growing, monkeypatch):
    monkeypatch.setattr(_live, "PAUSE", 1e9)
    parts, pause = _live.look_at_all(str(growing.path))
    assert "looked at every" in parts["age"] and pause > _live.OLD


def test_a_large_run_is_shown_before_all_of_it_is_read(growing, tmp_path, monkeypatch):
    go_on, ask = threading.Event(), _helper.Helper.ask

    async def held(self, what, *arguments):
        assert what != "look at all" or await asyncio.to_thread(go_on.wait, 30)
        return await ask(self, what, *arguments)

    monkeypatch.setattr(_helper.Helper, "ask", held)
    monkeypatch.setattr(_server, "FIRST_WAIT", 0.05)
    asked = Asked(tmp_path)
    try:
        growing.grow(5)
        told = asked.get("api/run/live")[1]
        assert "5 of 40" in told["parts"]["progress"] and "tiles" not in told["parts"]
        go_on.set()
        parts = {}
        wait_until(lambda: parts.update(asked.get("api/run/live")[1]["parts"]) or "tiles" in parts)
    finally:
        go_on.set()
        asked.link.close()


def test_a_run_that_vanishes_or_is_damaged_while_it_is_shown(growing, tmp_path):
    save(tmp_path, 1, 7.0)
    asked = Asked(tmp_path)
    try:
        growing.grow(5)
        assert asked.get("api/run/live")[0] == 200
        for file in growing.path.glob("run.sqlite*"):
            file.write_bytes(b"no database " * 1000)
        status, told, _ = asked.get("api/run/live")
        assert status in (404, 422) and told["error"]
        shutil.rmtree(growing.path)
        status, told, _ = asked.get("api/run/live")
        assert status in (404, 422) and told["error"]
        assert asked.get("run/live")[0] in (404, 422)
        assert asked.get("run/run001")[0] == 200 and asked.get("api/run/run001")[0] == 200
    finally:
        asked.link.close()


def test_more_live_pages_than_are_kept(tmp_path):
    """A page that is asked for again after it was dropped is told what changed."""
    runs = [Growing(tmp_path / f"live{i}") for i in range(_server.KEPT_LIVE + 1)]
    asked = Asked(tmp_path)
    try:
        known = [asked.get(f"api/run/live{i}")[1]["version"] for i in range(len(runs))]
        for run in runs:
            run.grow(5)
        for i in range(len(runs)):
            told = asked.get(f"api/run/live{i}?since={known[i]}")[1]
            assert "5 of 40" in told["parts"]["progress"]
            assert asked.get(f"api/run/live{i}?since={told['version']}")[1]["parts"] == {}
    finally:
        asked.link.close()


# ---- parts ----


def test_names_of_the_server():
    access = Access("secret", ["board.site"])
    for host in ("localhost", "127.0.0.1:80", "[::1]:9", "board.site:80", "10.1.2.3"):
        assert access.knows_host(host), host
    for host in ("", "evil.example", "board.site.evil.example", "[::1", "localhost.evil.example:80"):
        assert not access.knows_host(host), host
    assert Access().token != Access().token and len(Access().token) >= 32
    assert access.is_token("secret") and not access.is_token("") and not access.is_token("sécret")


@NO_LIMITS
def test_a_query_that_nobody_waits_for_is_ended(folder, monkeypatch):
    """Its place is free for the next one."""
    monkeypatch.setattr(_ask, "SECONDS", 300)
    asked = Asked(folder)
    endless = urllib.parse.quote("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n")
    try:
        for _ in range(_ask.AT_ONCE):
            with pytest.raises(TimeoutError):
                asked.get(f"api/sql/run009?q={endless}", timeout=1)
        assert asked.get("api/sql/run009?q=SELECT%201")[1]["rows"] == [[1]]
    finally:
        asked.link.close()


def test_the_policy_knows_scripts_by_their_hash():
    # echo -n 'a()' | openssl dgst -sha256 -binary | base64
    assert "'sha256-qVpDBgj7bpq5hMAcGp3AOc79J3Y1Z4HvySTwKrWDoy4='" in policy_of(["a()"])
    assert policy_of(["a()"]) != policy_of(["b()"])
    assert "sha256" not in policy_of()


def test_a_script_that_came_into_a_page_is_not_allowed(folder, monkeypatch):
    async def evil(self, what, *arguments):
        return "<html><script>evil()</script></html>"

    monkeypatch.setattr(_helper.Helper, "ask", evil)
    asked = Asked(folder)
    try:
        status, body, headers = asked.get("run/run009")
    finally:
        asked.link.close()
    assert status == 200 and "evil()" in body
    assert policy_of(["evil()"]).partition("'sha256-")[2].partition("'")[0] not in headers["Content-Security-Policy"]


def test_many_that_are_removed_are_forgotten_in_one_walk(folder, tmp_path, monkeypatch):
    for i in range(30):
        save(tmp_path / "many", i, 7.0)
    (tmp_path / "many" / "deep").mkdir()
    save(tmp_path / "many" / "deep", 1, 7.0)
    index = Index(tmp_path)
    index.look()
    walks, forget = [], Index._forget
    monkeypatch.setattr(Index, "_forget", lambda self, paths: walks.append(1) or forget(self, paths))
    for i in range(30):
        shutil.rmtree(tmp_path / "many" / f"run{i:03d}")
    shutil.rmtree(tmp_path / "many" / "deep")
    monkeypatch.setattr(_index, "PACE", 0)
    assert not [row for row in index.since(0)["rows"] if row[0].startswith("many/")]
    assert len(walks) <= 2


def test_the_list_of_a_board_that_was_started_again(folder):
    """A page that knows a version of the old one gets the whole list."""
    old = Index(folder)
    known = old.since(0)
    assert not old.since(known["version"])["all"]
    again = Index(folder).since(known["version"])
    assert again["all"] and len(again["rows"]) == len(known["rows"])


def test_a_link_in_the_place_of_a_measurement(tmp_path, monkeypatch):
    """The folder is not looked at again within a second."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    save(outside, 1, 7.0)
    save(inside, 0, 7.0)
    index = Index(inside)
    assert index.find("run000")
    monkeypatch.setattr(_index, "PACE", 60)
    shutil.move(inside / "run000", tmp_path / "moved")
    (inside / "run000").symlink_to(outside / "run001")
    with pytest.raises(_index.Unreadable, match="is a link now"):
        index.find("run000")


def test_only_what_changed_is_read_again(folder, monkeypatch):
    index = Index(folder)
    index.look()
    asked, list_runs = [], _core.list_runs
    monkeypatch.setattr(_core, "list_runs", lambda path: asked.append(path) or list_runs(path))
    index._looked = -1e9
    index.look()
    assert asked == []

    def news():
        index._looked = -1e9
        told = index.since(index.version)
        read = [Path(one).name for one in asked]
        asked.clear()
        return [row[0] for row in told["rows"]], told["gone"], read

    added = save(folder / "nightly", 60, 4.0)
    assert news() == (["nightly/run060"], [], ["run060"])
    save(folder / "nightly", 60, 5.0)  # another one in its place
    assert news() == (["nightly/run060"], [], ["run060"])
    shutil.rmtree(added)
    assert news() == ([], ["nightly/run060"], [])
    (folder / "new" / "empty").mkdir(parents=True)  # a run that comes later than its folder
    assert news() == ([], [], ["new"])
    save(folder / "new" / "empty", 61, 4.0)
    assert news() == (["new/empty/run061"], [], ["run061"])
    shutil.rmtree(folder / "new")
    assert news() == ([], ["new/empty/run061"], [])


def test_a_run_whose_writer_was_killed_is_read_when_it_changes(growing, tmp_path, monkeypatch):
    index, asked, list_runs = Index(tmp_path), [], _core.list_runs
    monkeypatch.setattr(_core, "list_runs", lambda path: asked.append(path) or list_runs(path))

    def state():
        index._looked = -1e9
        index.look()
        read = len(asked)
        asked.clear()
        return index.find("live")["state"], read

    assert state() == ("live", 2)  # found, and looked at again
    assert state() == ("live", 1)
    growing.live = None
    assert state() == ("unfinished", 1)
    state()
    assert state() == ("unfinished", 0)
    os.utime(growing.path / "run.sqlite")
    assert state() == ("unfinished", 1)


def look(index):
    index._looked = -1e9
    index.look()
    return {row[0]: row[KEYS.index("error")] for row in index.since(0)["rows"]}


@pytest.mark.parametrize("place", ["copy", "new/deep/copy"])
def test_a_run_that_is_copied_slowly(folder, tmp_path, place):
    """Its folder first, then a part of its file, then all of it."""
    source, copy = folder / "run009" / "run.sqlite", tmp_path / place
    index = Index(tmp_path)
    assert look(index) == {}
    copy.mkdir(parents=True)
    assert look(index) == {}
    whole = source.read_bytes()
    for size in (0, 60):
        (copy / "run.sqlite").write_bytes(whole[:size])
        assert look(index) == {}
    (copy / "run.sqlite").write_bytes(whole[:5000])
    assert look(index)[place]  # it cannot be read
    shutil.copytree(folder / "run009", copy, dirs_exist_ok=True)
    assert look(index) == {place: None}
    assert index.find(place)["outcome"] == "failed"
    (copy / "run.sqlite").unlink()
    shutil.rmtree(copy)
    assert look(index) == {}


def test_the_folder_itself_becomes_a_measurement(folder, tmp_path):
    index = Index(tmp_path)
    assert look(index) == {}
    shutil.copytree(folder / "run009", tmp_path, dirs_exist_ok=True)
    assert look(index) == {tmp_path.name: None}


def test_a_live_run_that_is_damaged_for_a_moment(growing, tmp_path):
    growing.grow(5)
    index = Index(tmp_path)
    assert look(index) == {"live": None}
    whole = (growing.path / "run.sqlite").read_bytes()
    (growing.path / "run.sqlite").write_bytes(b"")
    assert look(index) == {}
    (growing.path / "run.sqlite").write_bytes(whole)
    assert list(look(index)) == ["live"]


def test_too_many_folders_are_told(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_index, "MOST_FOLDERS", 3)
    assert Index(folder / "nightly").since(0)["notice"] == ""
    for number in range(5):
        (tmp_path / f"d{number}").mkdir()
    assert "3 folders" in Index(tmp_path).since(0)["notice"]


def test_a_folder_that_is_a_measurement(folder):
    index = Index(folder / "nightly" / "run000")
    assert [row[0] for row in index.since(0)["rows"]] == ["run000"]
    assert index.find("run000")["path"] == str(folder / "nightly" / "run000")


def test_list_runs(folder, tmp_path):
    assert [one["name"] for one in json.loads(_core.list_runs(folder))][:1] == ["run009"]
    assert json.loads(_core.list_runs(tmp_path)) == []
    with pytest.raises(FileNotFoundError):
        _core.list_runs(tmp_path / "none")
    with pytest.raises(TypeError):
        _core.list_runs(3)


def test_no_leak(folder, growing):
    growing.grow(5)

    def use():
        _core.list_runs(folder)
        run, _, _ = _core.load_news(growing.path, 0)
        run.chunk_columns(["t_start", "file"]).column("file")
        run.budget_total()
        _core.time_left(run, 1.0)
        for call in (lambda: _core.load_news(folder / "none", 0), lambda: run.chunk_columns(["none"]),
                     lambda: run.chunk_columns([3]), lambda: run.chunk_columns("file"), lambda: _core.time_left(3, 1.0)):
            with pytest.raises((OSError, ValueError, TypeError)):
                call()

    assert_nothing_is_kept(use, 50)


def test_some_columns(growing):
    growing.grow(5)
    run = _core.load_news(growing.path, 0)[0]
    some = run.chunk_columns(iter(["num_events", "file", "t_end"]))
    assert some.columns == ("t_end", "num_events", "file") and len(some) == 5
    for name in some.columns:
        assert list(some.column(name)) == list(run.chunks.column(name))
    with pytest.raises(ValueError, match="no column 'fiel'"):
        run.chunk_columns(["file", "fiel"])
    assert len(run.chunk_columns([])) == 5


def test_a_port_that_is_taken(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(OSError):
            roastcoffea.board(folder, port=taken.getsockname()[1])
    with pytest.raises(FileNotFoundError):
        roastcoffea.board(Path(folder) / "none")
    assert not [one for one in threading.enumerate() if one.name == "roastcoffea board" and not one.daemon]


def test_a_port_that_is_none(folder):
    for port in (-1, 65536, 99999):
        with pytest.raises(ValueError, match="0 to 65535"):
            roastcoffea.board(folder, port=port)
    done = subprocess.run([sys.executable, "-m", "roastcoffea", "board", "--port", "99999", str(folder)], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and "0 to 65535" in done.stderr and "Traceback" not in done.stderr


def test_the_process_of_a_notebook_keeps_its_limits(folder):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    low = min(1000, before[0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (low, before[1]))
    try:
        link = roastcoffea.board(folder)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == low
        link.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_listening_everywhere_names_this_machine(folder):
    link = roastcoffea.board(folder, host="0.0.0.0")
    try:
        assert urllib.parse.urlsplit(link.url).hostname == socket.gethostname().lower()
    finally:
        link.close()


@pytest.mark.parametrize("program", [[sys.executable, "-m", "roastcoffea"], [str(Path(sys.executable).with_name("roast"))]])
def test_the_program(folder, program):
    """Started as people do, read from its output, ended by Ctrl-C."""
    process = subprocess.Popen([*program, "board", "--port", "0", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    try:
        url = next(line.strip() for line in process.stdout if "http://" in line)
        found = urllib.parse.urlsplit(url)
        asked = Asked.__new__(Asked)
        asked.port, asked.base, asked.token = found.port, found.path, found.query.removeprefix("token=")
        assert len(asked.get("api/runs")[1]["rows"]) == 5
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0 and told == ""
    finally:
        process.kill()
        process.wait()


def test_the_token_is_no_argument_of_the_browser(folder, tmp_path):
    """Others see the arguments of a program. The file that leads to the board goes with it."""
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\nstat -c %a "${{1#file://}}" > {told}.part\n'
                       f'echo "$1" >> {told}.part\ncat "${{1#file://}}" >> {told}.part\nmv {told}.part {told}\n')
    browser.chmod(0o755)
    process = subprocess.Popen([sys.executable, "-m", "roastcoffea", "board", "--open", "--port", "0", str(folder)],
                               stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": f"{browser} %s"})
    try:
        url = next(line.strip() for line in process.stdout if "http://" in line)
        wait_until(told.exists)
        mode, argument, page = told.read_text().split("\n", 2)
        assert mode == "600" and "token" not in argument and f'url={url}"' in page
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert not os.path.exists(argument.removeprefix("file://"))
    finally:
        process.kill()
        process.wait()
