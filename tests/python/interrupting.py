"""Ctrl-C in tests."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(autouse=True)
def interrupts_are_heard():
    """A process in the background is started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
