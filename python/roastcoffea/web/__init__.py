"""A board of all measurements below a folder, in a browser: runs as they come, one of them live, two compared, SQL.

It reads what is on disk and nothing else: a measured run does not notice it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Sequence

from roastcoffea.web._access import Access

__all__ = ["Link", "board", "serve"]

PORT, MOST_PORT = 8799, 65535
EVERYWHERE = ("", "0.0.0.0", "::")  # to listen on; no address to go to


class Link:
    """The address of a board; ``close()`` ends it."""

    def __init__(self, url: str, proxied: bool = False) -> None:
        self.url = url
        self._proxied = proxied  # seen under another name than that of the address
        self._end: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def close(self) -> None:
        if self._end is not None:
            loop, event = self._end
            self._end = None
            loop.call_soon_threadsafe(event.set)

    def __repr__(self) -> str:
        return self.url

    def _repr_html_(self) -> str:
        from roastcoffea.report._markup import text

        # Behind a proxy the browser knows the server that shows the notebook, and the path below it.
        to = "/" + self.url.split("/", 3)[3] if self._proxied else self.url
        return f'<a href="{text(to)}" target="_blank" rel="noopener">{text(to.partition("?")[0])}</a>'


async def serve(folder: str | os.PathLike[str], host: str = "127.0.0.1", port: int = PORT, base_url: str = "/",
                allow_hosts: Sequence[str] = (), token: str | None = None, ready: "asyncio.Future[Link] | None" = None,
                until: asyncio.Event | None = None) -> None:
    """Serves the board until it is cancelled, or until the event. `ready` gets the link. If the port is taken and is the
    usual one, any other one will do."""
    from roastcoffea.web._server import Board

    if not 0 <= port <= MOST_PORT:
        raise ValueError(f"a port is a number from 0 to {MOST_PORT}, not {port}")
    board = Board(folder, Access(token, [host, *allow_hosts]), base_url)
    try:
        server, bound = board.listen(host, port)
    except OSError:
        if port != PORT:
            raise
        server, bound = board.listen(host, 0)
    name = socket.gethostname() if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    link = Link(f"http://{name}:{bound}{board.pages.base}?token={board.access.token}",
                proxied=board.pages.base != "/")
    if ready is not None:
        ready.set_result(link)
    try:
        await (until or asyncio.Event()).wait()
    finally:
        server.stop()
        await server.close_all_connections()
        await board.close()


def board(folder: str | os.PathLike[str] = ".", host: str = "127.0.0.1", port: int = 0, base_url: str = "/",
          allow_hosts: Sequence[str] = ()) -> Link:
    """Starts a board in a thread of this process, and gives its link: for notebooks. It ends with the process, or by
    ``close()``.

    Args:
        folder: The folder with the measurements.
        host: The address to listen on.
        port: 0: any free one.
        base_url: The path under which it is seen, behind jupyter-server-proxy.
        allow_hosts: Names under which a proxy may ask for it.
    """
    started: dict[str, object] = {}
    there = threading.Event()

    async def run() -> None:
        loop, until = asyncio.get_running_loop(), asyncio.Event()
        ready: asyncio.Future[Link] = loop.create_future()

        def told(done: asyncio.Future[Link]) -> None:
            link = started["link"] = done.result()
            link._end = (loop, until)
            there.set()

        ready.add_done_callback(told)
        await serve(folder, host, port, base_url, allow_hosts, ready=ready, until=until)

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            started.setdefault("error", error)
        finally:
            there.set()

    threading.Thread(target=main, name="roastcoffea board", daemon=True).start()
    there.wait()
    link = started.get("link")
    if not isinstance(link, Link):
        error = started["error"]
        assert isinstance(error, BaseException)
        raise error
    return link
