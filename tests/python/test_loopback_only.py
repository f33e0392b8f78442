"""Tests may talk to this machine alone: `tools/loopback_only.py`, which tests/conftest.py installs."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("host", ["192.0.2.1", "10.255.255.1"])
def test_a_connection_elsewhere_is_refused_before_it_is_tried(host):
    with socket.socket() as one, pytest.raises(ConnectionRefusedError, match="only loopback"):
        one.connect((host, 9))


def test_loopback_is_allowed():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        assert one.getpeername() == server.getsockname()
