"""A headless Chromium, driven through its DevTools protocol over tornado's websocket, which Dask brings along.

Only what the tests of the report need: open a file, run a script, use the mouse, take a picture, and tell what
the console and the network said.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tornado.websocket import websocket_connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--no-default-browser-check", "--mute-audio",
         "--disable-dev-shm-usage", "--password-store=basic", "--hide-scrollbars",
         # Whatever a page asks for by name, there is no such host.
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
# Nor by number, this machine's own included.
ALONE = ("--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>")
START_SECONDS = 60.0
CALL_SECONDS = 60.0


def find_chromium() -> str | None:
    """The program; None where there is none. ROAST_CHROMIUM names another one."""
    named = os.environ.get("ROAST_CHROMIUM")
    if named:
        return named
    return next((found for found in map(shutil.which, NAMES) if found), None)


class Chromium:
    """One browser with one page; a context manager. The methods wait until they are done."""

    def __init__(self, width: int = 1280, height: int = 900, dark: bool = False, loopback: bool = False) -> None:
        """`loopback`: servers of this machine can be reached."""
        self.console: list[str] = []  # what scripts wrote, and exceptions that nobody caught
        self.requests: list[str] = []  # all that was asked for
        self.failed: list[str] = []  # and what could not be had
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self._size, self._dark = (width, height), dark
        self._session: str | None = None
        self._flags = FLAGS if loopback else (*FLAGS, *ALONE)

    def __enter__(self) -> Chromium:
        program = find_chromium()
        assert program is not None, "there is no Chromium"
        self._folder = tempfile.mkdtemp(prefix="roast-chromium-")
        self._process = subprocess.Popen(
            [program, *self._flags, f"--user-data-dir={self._folder}", "--remote-debugging-port=0", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )
        self._loop = asyncio.new_event_loop()
        try:
            self._run(self._connect(self._address()))
            self.resize(*self._size)
            self.set_dark(self._dark)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        # The browser has processes of its own: all of its group go with it.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._loop.run_until_complete(asyncio.sleep(0))
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
            self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
        self._loop.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # ---- what a test does ----

    def open(self, place: Path | str) -> float:
        """Loads a file or an address; returns the seconds until the page says that it has loaded."""
        loaded = self._waiting["Page.loadEventFired"] = asyncio.Event()
        begin = time.monotonic()
        self.call("Page.navigate", url=place.resolve().as_uri() if isinstance(place, Path) else place)
        self._run(asyncio.wait_for(loaded.wait(), CALL_SECONDS))
        return time.monotonic() - begin

    def evaluate(self, script: str):
        """The value of an expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_until(self, script: str, seconds: float = 30.0) -> None:
        """Until an expression is true."""
        until = time.monotonic() + seconds
        while not self.evaluate(script):
            assert time.monotonic() < until, f"never came true: {script}"
            self.pause(0.02)

    def pause(self, seconds: float) -> None:
        self._run(asyncio.sleep(seconds))

    def move(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, x0: float, y0: float, x1: float, y1: float) -> None:
        self.move(x0, y0)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x0, y=y0, button="left", clickCount=1)
        for step in range(1, 9):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x0 + (x1 - x0) * step / 8,
                      y=y0 + (y1 - y0) * step / 8, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x1, y=y1, button="left", clickCount=1)

    def wheel(self, x: float, y: float, delta: float, control: bool = False) -> None:
        self.move(x, y)
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta,
                  modifiers=2 if control else 0)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_dark(self, dark: bool) -> None:
        """What the system's preference is."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path: Path, whole: bool = True) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    # ---- the protocol ----

    def call(self, method: str, **params):
        return self._run(asyncio.wait_for(self._send(method, params), CALL_SECONDS))

    def _run(self, coroutine):
        return self._loop.run_until_complete(coroutine)

    def _address(self) -> str:
        """The browser writes where it listens into its folder."""
        file, until = Path(self._folder, "DevToolsActivePort"), time.monotonic() + START_SECONDS
        while True:
            lines = file.read_text().splitlines() if file.exists() else []
            if len(lines) >= 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            assert self._process.poll() is None, "Chromium ended by itself"
            assert time.monotonic() < until, "Chromium did not start"
            time.sleep(0.02)

    async def _connect(self, address: str) -> None:
        self._socket = await websocket_connect(address, max_message_size=1 << 30)
        self._reader = asyncio.ensure_future(self._read())
        targets = await self._send("Target.getTargets", {})
        page = next(target for target in targets["targetInfos"] if target["type"] == "page")
        attached = await self._send("Target.attachToTarget", {"targetId": page["targetId"], "flatten": True})
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self._send(f"{domain}.enable", {})

    async def _send(self, method: str, params: dict):
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._socket.write_message(json.dumps(message))
        return await answer

    async def _read(self) -> None:
        while (data := await self._socket.read_message()) is not None:
            message = json.loads(data)
            if "id" in message:
                self._answer(message)
            else:
                self._event(message["method"], message.get("params", {}))

    def _answer(self, message: dict) -> None:
        answer = self._answers.pop(message["id"])
        if answer.cancelled():
            return
        if "error" in message:
            answer.set_exception(RuntimeError(message["error"]["message"]))
        else:
            answer.set_result(message["result"])

    def _event(self, method: str, params: dict) -> None:
        if method in self._waiting:
            self._waiting[method].set()
        if method == "Runtime.consoleAPICalled" and params["type"] in ("warning", "error", "assert"):
            words = (str(arg.get("value", arg.get("description", ""))) for arg in params["args"])
            self.console.append(f"{params['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            entry = params["entry"]
            self.console.append(f"{entry['source']} {entry['level']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.loadingFailed":
            self.failed.append(params["errorText"])
