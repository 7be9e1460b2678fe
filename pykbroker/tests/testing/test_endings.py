"""However a test ends, nothing of its brokers stays."""

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
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pykbroker.process.log_directories import StartFailed
from pykbroker.runtime.temporary import TESTS, sweep
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.kit.running import until_in_thread

USE = "from pykbroker.testing import Kafka\nkafka = Kafka(process={process}).start()\nprint(kafka.pid, flush=True)\n"


def left_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def script(folder: Path, text: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("process", [False, True])
def test_a_block_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: bool) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    Kafka().start().stop()  # uvloop opens a pipe with the first loop of a process, and keeps it
    threads, files = set(threading.enumerate()), descriptors()
    with pytest.raises(ZeroDivisionError), Kafka(process=process) as kafka:  # noqa: PT012 - that it is inside is the point
        host, _, port = kafka.bootstrap_servers.partition(":")
        1 // 0  # noqa: B018
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    assert (set(threading.enumerate()) - threads, left_in(tmp_path)) == (set(), [])
    until_in_thread(lambda: descriptors() <= files)  # clients of other tests may connect again, and end
    with pytest.raises(RuntimeError, match="not running"):
        _ = kafka.bootstrap_servers


@pytest.mark.parametrize(
    "ending", ["", "1 // 0", "import signal; signal.raise_signal(signal.SIGINT)", "raise SystemExit"]
)
@pytest.mark.deep(but=2)
def test_an_interpreter_that_ends_in_the_middle_leaves_nothing(tmp_path: Path, ending: str) -> None:
    running = script(tmp_path, f"{USE.format(process=False)}kafka.produce('t', 'v')\n{ending}\n")
    _, said = running.communicate(timeout=30)
    assert "pykbroker" not in said.replace("pykbroker.testing", "")
    assert left_in(tmp_path) == []


@pytest.mark.deep
def test_what_a_killed_interpreter_left_is_swept_up_by_the_next(tmp_path: Path) -> None:
    with script(tmp_path, f"{USE.format(process=False)}import signal; signal.pause()") as killed:
        assert killed.stdout is not None
        killed.stdout.readline()
        sweep(TESTS, tmp_path)
        assert len(left_in(tmp_path)) == 1  # its owner lives
        killed.kill()
    (tmp_path / f"{TESTS}half-removed").mkdir()
    script(tmp_path, USE.format(process=False)).communicate(timeout=30)
    assert left_in(tmp_path) == []


def test_a_process_of_its_own_ends_with_a_killed_interpreter(tmp_path: Path) -> None:
    with script(tmp_path, f"{USE.format(process=True)}import signal; signal.pause()") as killed:
        assert killed.stdout is not None
        watched = os.pidfd_open(int(killed.stdout.readline()))
        killed.kill()
    signalled = threading.Event()
    thread = threading.Thread(target=lambda: (_wait_for_end(watched), signalled.set()))
    thread.start()
    assert signalled.wait(30)
    thread.join()
    os.close(watched)
    assert left_in(tmp_path) == []


def _wait_for_end(process: int) -> None:
    import select

    select.select([process], [], [])


def test_a_process_of_its_own_serves(tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient

    with KafkaCluster(brokers=2, process=True, num_partitions=2) as kafka:
        assert kafka.pid != os.getpid()
        metadata = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20)
        assert sorted(metadata.brokers) == [1, 2]
        assert any("listens on ports" in line for line in kafka.log_lines)
        with pytest.raises(RuntimeError, match="leave process=True out"):
            kafka.produce("t", "v")
        with pytest.raises(RuntimeError, match="leave process=True out"):
            kafka.reset()
        os.kill(kafka.pid, signal.SIGKILL)


def test_a_process_that_cannot_start_says_why() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for process in (False, True):
            with pytest.raises((StartFailed, OSError), match="in use"):
                Kafka(port=taken.getsockname()[1], process=process).start()


def test_several_brokers_in_one_process_know_nothing_of_each_other() -> None:
    with Kafka() as one, Kafka() as other:
        one.produce("t", "v")
        assert other.topics() == {}
        other.reset()
        assert one.topics() == {"t": 1}
        assert one.log_lines
        assert not set(one.log_lines) & set(other.log_lines)


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
        "collector": (gc.isenabled(), gc.get_threshold(), list(gc.callbacks)),
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
        "policy": asyncio.events._event_loop_policy,  # the function that returns it warns from Python 3.14 on
        "sockets": socket.getdefaulttimeout(),
        "faulthandler": faulthandler.is_enabled(),
        "locale": locale.setlocale(locale.LC_ALL),
    }


OPTIONS: list[dict[str, Any]] = [{}, {"brokers": 3}, {"clock": "manual"}, {"chaos": 7}, {"http": 0}]


def lives(number: int) -> None:
    with Kafka(**OPTIONS[number % len(OPTIONS)]) as kafka:
        kafka.create_topic("events", 3)
        kafka.produce("events", b"a")
        kafka.reset()
        assert kafka.bootstrap_servers


@pytest.mark.parametrize("at_once", [1, 5])
@pytest.mark.deep(but=1)
def test_a_process_is_as_it_was(at_once: int) -> None:
    """Also where several live in threads at once, each of which may find what another has changed for a while."""
    for number in range(len(OPTIONS)):
        lives(number)  # what is imported registers itself
    before, frozen, threads_before = state(), gc.get_freeze_count(), set(threading.enumerate())
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet in the middle of what they do
    try:
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(lives, range(2 * at_once + 5)))
    finally:
        sys.setswitchinterval(interval)
    after = state()
    assert {name: (before[name], after[name]) for name in before if before[name] != after[name]} == {}
    assert gc.get_freeze_count() <= frozen
    for thread in set(threading.enumerate()) - threads_before:
        thread.join(30)
        assert not thread.is_alive()
