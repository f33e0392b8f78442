"""Servers of files on loopback, each with a latency of its own, for the tests of storage.

A server is a process of its own: its CPU time is not that of the run. It ends with the pipe of its starter, and after a
minute and a half in any case. It writes down from when to when it let somebody wait.

    python storage_servers.py http FOLDER LATENCY LOG        files, with range requests
    python storage_servers.py proxy PORT LATENCY LOG         what a server on that port says comes later
"""

from __future__ import annotations

import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LONGEST = 90  # s, of the life of a server


class Waits:
    """Stretches of time in a file, one a line."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def note(self, begin, end):
        self.file.write(f"{begin!r} {end!r}\n")


def blocked(path, stretches):
    """Seconds of these stretches in which somebody waited for the server: nothing is counted twice."""
    waits = sorted(tuple(map(float, line.split())) for line in Path(path).read_text().splitlines())
    total = 0.0
    for begin, end in stretches:
        at = begin
        for one, other in waits:
            one, other = max(one, at), min(other, end)
            if one < other:
                total += other - one
                at = other
    return total


# ---- files by HTTP ----

class Files(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # headers and body in one packet: the second one would wait for an answer to the first

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        begin = time.time()
        time.sleep(self.server.latency)
        self.server.waits.note(begin, time.time())
        data = (self.server.folder / Path(self.path).name).read_bytes()
        size, status = len(data), 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            first, last = int(wanted[1]), min(int(wanted[2] or size), size - 1)
            data, status = data[first : last + 1], 206
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data)))
        if wanted:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *args):
        pass


def serve_files(folder, latency, log):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    server.folder, server.latency, server.waits = Path(folder), latency, Waits(log)
    print(server.server_address[1], flush=True)
    server.serve_forever()


# ---- a connection that is slow ----

def forward(source, target):
    while data := source.recv(1 << 16):
        target.sendall(data)


def forward_late(source, target, latency, waits):
    late = queue.SimpleQueue()

    def send():
        while True:
            came, data = late.get()
            time.sleep(max(0, came + latency - time.time()))
            target.sendall(data)
            waits.note(came, time.time())

    threading.Thread(target=send, daemon=True).start()
    while data := source.recv(1 << 16):
        late.put((time.time(), data))


def serve_late(port, latency, log):
    waits = Waits(log)
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            client, _ = server.accept()
            behind = socket.create_connection(("127.0.0.1", port))
            for one in (client, behind):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=forward, args=(client, behind), daemon=True).start()
            threading.Thread(target=forward_late, args=(behind, client, latency, waits), daemon=True).start()


# ---- for the tests ----

class Door:
    def __init__(self, port, log):
        self.port, self.log = port, log

    def blocked(self, chunks):
        """Seconds in which the clients of this door waited while these chunks were inside process()."""
        return blocked(self.log, [(chunk["t_start"], chunk["t_start"] + chunk["duration"]) for chunk in chunks])


@contextmanager
def started(kind, what, latency, log):
    command = [sys.executable, __file__, kind, str(what), str(latency), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield Door(int(server.stdout.readline()), log)
        finally:
            server.kill()


@contextmanager
def xrootd(folder, home):
    """The port of a server of XRootD with the files of a folder. It runs as "nobody", who must be able to read them."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = home / "xrootd.cfg"
    config.write_text(f"all.export /\noss.localroot {folder}\nxrd.network nodnr\nall.adminpath {home}\n"
                      f"all.pidpath {home}\nxrd.port {port}\nxrootd.async off\n")
    home.chmod(0o777)
    owner = ["-R", "nobody"] if os.geteuid() == 0 else []
    command = ["timeout", str(LONGEST), "xrootd", *owner, "-c", str(config), "-l", str(home / "log"), "-n", "test"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 20
            while not answers(port):
                assert server.poll() is None and time.monotonic() < until, "xrootd does not start"
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def die_with_starter():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    signal.alarm(LONGEST)
    threading.Thread(target=die_with_starter, daemon=True).start()
    kind, what, latency, log = sys.argv[1:]
    if kind == "http":
        serve_files(what, float(latency), log)
    else:
        serve_late(int(what), float(latency), log)
