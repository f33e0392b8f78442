"""The server: addresses, and what stands behind them. It reads, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from roastcoffea.common.extras import needed

needed("the board", "tornado", "report")
import tornado.httpserver
import tornado.log
import tornado.netutil
import tornado.web

from roastcoffea.web import _ask
from roastcoffea.web._access import HEADERS, Access, policy_of
from roastcoffea.web._helper import Helper, Helpers
from roastcoffea.web._index import Index, Unreadable
from roastcoffea.web._live import in_order
from roastcoffea.web._pages import Pages
from roastcoffea.report._document import own_scripts
from roastcoffea.report._page import library

__all__ = ["Board", "allow_connections"]

REPORT, HERE = Path(__file__).parent.parent / "report", Path(__file__).parent
STATIC = {file.name: file for file in
          (REPORT / "report.css", REPORT / "tables.js", HERE / "board.css", HERE / "board.js")}
TYPES = {".css": "text/css", ".js": "text/javascript"}
KEPT_PAGES, KEPT_LIVE, MOST_RUNS, MOST_FILES = 8, 8, 64, 8192
FIRST_WAIT = 1.0  # seconds for findings and budget of a live run; without them, the page shows the rest
AGAIN = 10  # times as long as a look took that failed, the board waits before the next one


class Live:
    """The page of a run that goes on: its parts, each with the version in which it changed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.helper = Helper()  # has read what came before
        self.lock = asyncio.Lock()  # one look at a time
        self.stamp: Any = None
        # Larger than any version of an earlier object for the same run, which was dropped to make room: a page may know it.
        self.version = time.time_ns() // 1000
        self.parts: dict[str, tuple[int, str]] = {}
        self.quick: dict[str, str] = {}
        self.all: dict[str, str] = {}
        self.whole: asyncio.Future[None] | None = None  # the look at all of it
        self.whole_stamp: Any = None
        self.due = 0.0  # when there may be the next one

    async def look_at_all(self, helpers: Helpers) -> None:
        began = time.monotonic()
        try:
            self.all, pause = json.loads(await helpers.ask("look at all", self.path))
            self.due = time.monotonic() + pause
        except BaseException:
            self.due = time.monotonic() + AGAIN * (time.monotonic() - began)
            raise

    def take(self, parts: dict[str, str]) -> None:
        self.version += 1
        self.parts = {
            key: self.parts[key] if self.parts.get(key, (0, ""))[1] == body else (self.version, body)
            for key, body in parts.items()
        }

    def since(self, version: int) -> dict[str, Any]:
        version = version if version <= self.version else 0
        new = {key: body for key, (made, body) in self.parts.items() if made > version}
        return {"version": self.version, "order": list(self.parts), "parts": new}


class Board:
    """Everything that is kept between two requests."""

    def __init__(self, folder: str | os.PathLike[str], access: Access, base: str = "/") -> None:
        self.index, self.access = Index(folder), access
        self.pages = Pages(f"/{base.strip('/')}/" if base.strip("/") else "/")
        self._threads = ThreadPoolExecutor(4, "board")
        self.helpers = Helpers(2)
        self.asker = _ask.Asker()
        self._made: OrderedDict[Any, Awaitable[str]] = OrderedDict()
        self._live: OrderedDict[str, Live] = OrderedDict()

    async def work(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """In a thread, so that the others need not wait. What is in a measurement is read by the helpers instead."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        await self.helpers.close()
        for kept in self._live.values():
            await kept.helper.close()

    async def find(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.work(self.index.find, name)
        return found

    async def made(self, key: Any, what: str, *arguments: Any) -> str:
        """A page that does not change; whoever asks meanwhile waits for the same one."""
        task = self._made.get(key)
        if task is None:
            task = self._made[key] = asyncio.ensure_future(self.helpers.ask(what, self.pages.base, *arguments))
            while len(self._made) > KEPT_PAGES:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        try:
            return await asyncio.shield(task)
        except BaseException:
            self._made.pop(key, None)
            raise

    async def live(self, run: dict[str, Any], version: int) -> dict[str, Any]:
        kept = self._live.setdefault(run["name"], Live(run["path"]))
        self._live.move_to_end(run["name"])
        while len(self._live) > KEPT_LIVE:
            await self._live.popitem(last=False)[1].helper.close()
        async with kept.lock:
            stamp = await self.work(_stamp, run["path"])
            if stamp != kept.stamp:
                kept.quick = json.loads(await kept.helper.ask("look", kept.path))
                kept.stamp = stamp
            await self._look_at_all(kept, stamp)
            kept.take(in_order(kept.all | kept.quick))
        return {"state": run["state"], **kept.since(version)}

    async def _look_at_all(self, kept: Live, stamp: Any) -> None:
        """In the background. The first time it is waited for a moment: most runs are read by then."""
        waits = kept.whole is None
        if kept.whole is None or (kept.whole.done() and time.monotonic() >= kept.due and stamp != kept.whole_stamp):
            kept.whole_stamp = stamp
            kept.whole = asyncio.ensure_future(kept.look_at_all(self.helpers))
            kept.whole.add_done_callback(lambda done: done.cancelled() or done.exception())  # told when it is asked for
        if waits:
            await asyncio.wait([kept.whole], timeout=FIRST_WAIT)
        if kept.whole.done():
            kept.whole.result()

    def application(self) -> tornado.web.Application:
        base = self.pages.base
        routes = [
            (r"", Runs), (r"static/([a-z.]+)", Static), (r"run/(.+)", Run), (r"ask/(.+)", Ask),
            (r"compare", Compare), (r"scaling", Scaling), (r"api/runs", RunsApi), (r"api/run/(.+)", RunApi),
            (r"api/tables/(.+)", TablesApi), (r"api/sql/(.+)", SqlApi),
        ]
        # A proxy may keep the path under which it shows this board, or take it off.
        handlers = [(f"{front}{path}", handler, {"board": self}) for front in dict.fromkeys((base, "/")) for path, handler in routes]
        return tornado.web.Application(
            handlers, compress_response=True, default_handler_class=Missing, default_handler_args={"board": self},
            log_function=lambda handler: None)

    def listen(self, host: str, port: int) -> tuple[tornado.httpserver.HTTPServer, int]:
        """The server and its port; port 0: any that is free."""
        sockets = tornado.netutil.bind_sockets(port, host)
        server = tornado.httpserver.HTTPServer(
            self.application(), idle_connection_timeout=60, body_timeout=10, max_header_size=32 << 10,
            max_body_size=1 << 16, max_buffer_size=1 << 17)
        server.add_sockets(sockets)
        return server, sockets[0].getsockname()[1]


def allow_connections() -> None:
    """Lets this process have thousands of them: for a program that is a board and nothing else."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < MOST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES), hard))


def _stamp(path: str) -> Any:
    """Changes when something is written into a measurement."""
    try:
        return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(path))
    except OSError as error:
        raise Unreadable(f"the measurement cannot be read: {error.strerror}") from error


class Refusal(Exception):
    def __init__(self, status: int, title: str, told: str) -> None:
        super().__init__(told)
        self.status, self.title, self.told = status, title, told


class Handler(tornado.web.RequestHandler):
    """What holds for every request."""

    api = False

    def initialize(self, board: Board) -> None:
        self.board = board

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for key, value in HEADERS.items():
            self.set_header(key, value)
        self.set_header("Content-Security-Policy", policy_of())

    @property
    def _cookie(self) -> str:
        # Cookies do not know ports: two boards on one machine need two names.
        return f"roast-board-{urlsplit(f'//{self.request.host}').port or 80}"

    def prepare(self) -> None:
        access, headers = self.board.access, self.request.headers
        if not access.knows_host(self.request.host):
            raise Refusal(403, "Wrong name", "This board is not known by the name in the address (--allow-host adds one).")
        if not access.same_origin(headers.get("Origin"), self.request.host, headers.get("Sec-Fetch-Site"),
                                  headers.get("Sec-Fetch-Mode")):
            raise Refusal(403, "Another site", "Pages of other sites may not read this board.")
        header = headers.get("Authorization", "")  # of a proxy, it may be about something else
        given = self.get_query_argument("token", None) or (header.removeprefix("token ") if header.startswith("token ") else None)
        if given is not None and access.is_token(given):
            if self.get_query_argument("token", None) is not None and not self.api:
                # From now on the cookie: the address can be shown without it.
                self.set_cookie(self._cookie, access.cookie, path=self.board.pages.base, httponly=True, samesite="Lax")
                # To the same path: a proxy puts its own in front of one that begins with a slash, and another one does not.
                self.redirect(f"?{urlencode(self._other_arguments())}")
            return
        if given is not None or not access.is_cookie(self.get_cookie(self._cookie) or ""):
            if self.api:
                raise Refusal(403, "Token", "the token is missing or wrong")
            self.set_status(403)
            self.finish(self.board.pages.token(given is not None, self._other_arguments()))

    def _other_arguments(self) -> list[tuple[str, str]]:
        """All but the token: what the address asks for."""
        return [(key, value.decode("utf-8", "replace")) for key, values in self.request.query_arguments.items()
                for value in values if key != "token"]

    def write_error(self, status_code: int, **given: Any) -> None:
        error = (given.get("exc_info") or (None, None, None))[1]
        title, told = "Not found", "There is no such page."
        if isinstance(error, Refusal):
            status_code, title, told = error.status, error.title, error.told
        elif isinstance(error, Unreadable):
            status_code, title, told = 404, "Not there", str(error)
        elif isinstance(error, (OSError, ValueError, RuntimeError)):
            status_code, title, told = 422, "Cannot be shown", str(error)
        elif not isinstance(error, tornado.web.HTTPError):
            status_code, title, told = 500, "Error", "The board failed at this page; the terminal says more."
        elif status_code not in (404, 405):
            title, told = "Not understood", "The board does not understand this request."
        self.set_status(status_code)
        self.finish({"error": told} if self.api else self.board.pages.message(title, told))

    def log_exception(self, *error: Any) -> None:
        if not isinstance(error[1], (Refusal, Unreadable, OSError, ValueError, RuntimeError, tornado.web.HTTPError)):
            # Without the query, which may hold the token.
            tornado.log.app_log.error("the board failed at %s", self.request.path, exc_info=error)

    def send(self, document: str) -> None:
        """A page with the scripts of a report inside."""
        document = document.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # paths may hold any bytes
        self.set_header("Content-Security-Policy", _policy_of_reports())
        self.finish(document)

    def number(self, key: str) -> int:
        given = self.get_query_argument(key, "0")
        return int(given) if given.isdecimal() and len(given) < 18 else 0


@cache
def _policy_of_reports() -> str:
    return policy_of([*own_scripts(), library()])


class Missing(Handler):
    def get(self) -> None:
        raise tornado.web.HTTPError(404)


class Static(Handler):
    def prepare(self) -> None:  # no secret is in them, and the page of the token needs them
        pass

    def get(self, file: str) -> None:
        if file not in STATIC:
            raise tornado.web.HTTPError(404)
        self.set_header("Content-Type", TYPES[STATIC[file].suffix])
        self.set_header("Cache-Control", "no-cache")  # asked for again, and sent only if it has changed
        self.finish(STATIC[file].read_bytes())


class Runs(Handler):
    def get(self) -> None:
        self.finish(self.board.pages.runs())


class RunsApi(Handler):
    api = True

    async def get(self) -> None:
        found = await self.board.work(self.board.index.since, self.number("since"))
        self.set_header("Content-Type", "application/json")
        self.finish(await self.board.work(lambda: json.dumps(found, separators=(",", ":"))))


class Run(Handler):
    async def get(self, name: str) -> None:
        run = await self.board.find(name)
        if run["state"] == "live":
            self.finish(self.board.pages.live(name))
            return
        key = (name, str(await self.board.work(_stamp, run["path"])))
        self.send(await self.board.made(key, "report", name, run["path"]))


class RunApi(Handler):
    api = True

    async def get(self, name: str) -> None:
        self.finish(await self.board.live(await self.board.find(name), self.number("since")))


class Several(Handler):
    """Runs that were ticked: `run` in the address, once for each."""

    async def paths(self) -> list[str]:
        # As they are: get_query_arguments would take off blanks at the ends.
        names = [name.decode("utf-8", "replace") for name in self.request.query_arguments.get("run", [])]
        if not 2 <= len(names) <= MOST_RUNS:
            raise Refusal(400, "Which runs?", f"Tick two runs or more, up to {MOST_RUNS}.")
        return [(await self.board.find(name))["path"] for name in names]

    async def show(self, kind: str) -> None:
        paths = await self.paths()
        stamps = await self.board.work(lambda: [str(_stamp(path)) for path in paths])
        self.send(await self.board.made((kind, *paths, *stamps), kind, paths))


class Compare(Several):
    async def get(self) -> None:
        await self.show("comparison")


class Scaling(Several):
    async def get(self) -> None:
        await self.show("scaling")


class Ask(Handler):
    async def get(self, name: str) -> None:
        await self.board.find(name)
        self.finish(self.board.pages.ask(name))


class SqlApi(Handler):
    api = True
    _query: asyncio.Future[str] | None = None

    async def get(self, name: str) -> None:
        run = await self.board.find(name)
        form = "csv" if self.get_query_argument("form", "") == "csv" else "json"
        query = self.board.asker.ask(run["path"], self.get_query_argument("q", "", strip=False), form)
        self._query = asyncio.ensure_future(query)
        try:
            answer = await self._query
        except _ask.Refused as error:
            raise Refusal(400, "Not answered", str(error)) from error
        except asyncio.CancelledError:
            return  # nobody waits for it
        self.set_header("Content-Type", "text/csv; charset=utf-8" if form == "csv" else "application/json")
        self.finish(answer)

    def on_connection_close(self) -> None:
        """Who asked has asked something else, or has gone."""
        super().on_connection_close()
        if self._query is not None:
            self._query.cancel()


class TablesApi(Handler):
    api = True

    async def get(self, name: str) -> None:
        run = await self.board.find(name)
        try:
            self.finish(await self.board.asker.tables(run["path"]))
        except _ask.Refused as error:
            raise Refusal(400, "Not answered", str(error)) from error
