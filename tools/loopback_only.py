"""Lets this process connect to its own machine alone: `install()`. For tests and benchmarks, which make up addresses."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address
from typing import Any


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:  # a name, which only a resolver knows
        return False


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "socket.connect":
        return
    one, address = arguments
    # Connecting a datagram socket sends nothing: Dask asks the kernel in this way for the machine's own address.
    if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM \
            and not _is_loopback(str(address[0])):
        raise ConnectionRefusedError(f"{address[0]} is not on this machine, and only loopback is allowed here")


def install() -> None:
    sys.addaudithook(_check)
