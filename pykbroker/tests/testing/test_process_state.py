"""What a test double does to the process that it is in: nothing that is seen afterwards."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import locale
import logging
import os
import resource
import signal
import socket
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pykbroker.testing import Kafka


def state() -> dict[str, Any]:
    """What all threads of a process share, and code of the user's own may rely on."""
    mask = os.umask(0o022)
    os.umask(mask)
    root = logging.getLogger()
    return {
        "umask": mask,
        "directory": Path.cwd(),
        "variables": dict(os.environ),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(-1),
        "limits": {
            name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT")
        },
        "collector": (gc.isenabled(), gc.get_threshold(), list(gc.callbacks), gc.get_freeze_count()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.gettrace(), sys.getprofile()),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "path": list(sys.path),
        "interpreter": (sys.getswitchinterval(), sys.getrecursionlimit(), sys.get_int_max_str_digits()),
        "warnings": list(warnings.filters),
        "logging": (
            root.level,
            list(root.handlers),
            logging.root.manager.disable,
            logging.getLoggerClass(),
            logging.raiseExceptions,
        ),
        "policy": asyncio.get_event_loop_policy(),
        "sockets": socket.getdefaulttimeout(),
        "faulthandler": faulthandler.is_enabled(),
        "locale": locale.setlocale(locale.LC_ALL),
        "threads": {thread.name for thread in threading.enumerate()},
    }


OPTIONS: list[dict[str, Any]] = [{}, {"brokers": 3}, {"clock": "manual"}, {"chaos": 7}, {"http": 0}]


def lives(number: int) -> None:
    with Kafka(**OPTIONS[number % len(OPTIONS)]) as kafka:
        kafka.create_topic("events", 3)
        kafka.produce("events", b"a")
        kafka.reset()
        assert kafka.bootstrap_servers


@pytest.mark.parametrize("at_once", [1, 5])
def test_a_process_is_as_it_was(at_once: int) -> None:
    """Also where several live in threads at once, each of which may find what another has changed for a while."""
    for number in range(len(OPTIONS)):
        lives(number)  # what is imported registers itself
    before = state()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet in the middle of what they do
    try:
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(lives, range(2 * at_once + 5)))
    finally:
        sys.setswitchinterval(interval)
    after = state()
    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {}
