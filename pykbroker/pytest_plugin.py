"""The pytest plugin: fixtures ``kafka``, ``kafka_cluster`` and ``kafka_bootstrap``, and the marker ``kafka``.

Found by its entry point in every run where pykbroker is installed, so it imports nothing before a fixture is asked for.
Brokers are shared by the tests of a session (of a worker, with pytest-xdist) that want the same settings, and emptied
before each test that was not the first to use them.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pykbroker.testing import Kafka

#: So many brokers with settings of their own are kept for tests to come; then the one longest unused is ended.
_KEPT = 4
#: The order of sets of strings in processes with worlds.
_HASH_SEED = "PYTHONHASHSEED"
_FIXED = "0"
_SHOWN_REQUESTS = 30
_SHOWN_LINES = 30

_USED = pytest.StashKey["dict[str, Kafka]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of ``@kafka_world`` (docs/worlds.md)."""
    group = parser.getgroup("kafka_world", "worlds of pykbroker: asyncio programs, brokers and time out of one seed")
    group.addoption("--kafka-seed", type=int, metavar="N", help="live each world by this seed only")
    group.addoption("--kafka-seeds", type=_from(1), metavar="N", help="live each world by so many seeds")
    group.addoption("--kafka-tape", metavar="FILE", help="live each world by the schedule in a file of --kafka-report")
    group.addoption(
        "--kafka-shrink", type=_from(0), metavar="LIVES", help="the lives that shrinking a failure may take (0: none)"
    )
    group.addoption("--kafka-report", metavar="DIR", help="write an HTML page and the schedule of each failure here")


def _from(least: int) -> Callable[[str], int]:
    """What reads an option that is a number, and says what to write in place of another one."""

    def read(said: str) -> int:
        if not said.isdecimal() or int(said) < least:
            raise ArgumentTypeError(f"write a number, {least} or more, and not {said!r}")
        return int(said)

    return read


def pytest_configure(config: pytest.Config) -> None:
    """Strict markers want to be told; and the broker runs as it is.

    pytest rewrites the asserts of every package that brings a plugin. Of this one that is a whole broker: half as much again
    of its time to be imported, for nothing that a test would see.
    """
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("pykbroker")
    config.addinivalue_line(
        "markers",
        "kafka(settings=None, *, brokers=1, served_only=False, as_version=None, seed=None, clock='real', "
        "strict_faults=False, security=None, users=None, racks=None, **settings): the broker that the "
        "fixtures kafka and kafka_cluster give: Kafka's settings, with underscores for dots; seed is what there is at first, a "
        "path being one beside the test's file; served_only fails the test when a client sent what is not served; as_version "
        "names the release of Kafka that the broker is taken for; clock, strict_faults, security, users and racks are those of Kafka(...)",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Where there are worlds, pytest begins anew with one order of sets of strings, which is another in each process: so a seed is the same
    life in all of them. PYTHONHASHSEED in the environment, as ``random`` too, is left as it is.
    """
    config = session.config
    if _is_random() and _is_pytests_own(config) and any(_is_world(item) for item in session.items):
        config.get_terminal_writer().line(f"worlds: pytest begins anew with {_HASH_SEED}={_FIXED}")
        if (capture := config.pluginmanager.getplugin("capturemanager")) is not None:  # none by ``-p no:capture``
            capture.stop_global_capturing()
        sys.stdout.flush()
        sys.stderr.flush()
        os.environ[_HASH_SEED] = _FIXED
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same command


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """The same for pytest-xdist's workers, which have it from their beginning: what they will collect is not known here."""
    if _is_random():
        os.environ[_HASH_SEED] = _FIXED


def _is_random() -> bool:
    return _HASH_SEED not in os.environ and bool(sys.flags.hash_randomization)


def _is_pytests_own(config: pytest.Config) -> bool:
    """Whether this process is pytest's, so that its command can be run again: no worker, debugger or program that calls pytest."""
    if os.name != "posix" or hasattr(config, "workerinput") or config.option.collectonly:
        return False
    given = list(config.invocation_params.args)
    command = sys.orig_argv[1 : len(sys.orig_argv) - len(given)]
    if not command or sys.orig_argv[len(sys.orig_argv) - len(given) :] != given:
        return False
    return command[-2:] == ["-m", "pytest"] or Path(command[-1]).name in ("pytest", "py.test")


def _is_world(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_kafka_world", False)


class _Pool:
    """The brokers of a session, by fixture and settings."""

    def __init__(self) -> None:
        self._brokers: dict[Any, Kafka] = {}

    def take(self, fixture: str, brokers: int, as_version: str | None, settings: dict[str, Any]) -> Kafka:
        """A broker with nothing in it. Raises ConfigError and StartFailed."""
        from pykbroker.testing import Kafka

        key = (fixture, brokers, as_version, repr(sorted(settings.items())))
        kafka = self._brokers.pop(key, None)
        if kafka is None:
            own: dict[str, Any] = {name: settings[name] for name in _OF_KAFKA if name in settings}
            others = {name: value for name, value in settings.items() if name not in own}
            kafka = Kafka(others, brokers=brokers, as_version=as_version, **own).start()
        elif kafka.running:
            kafka.reset()
            kafka.forget_snapshots()
            kafka.forget_hooks()
        else:
            kafka.start()  # its last test stopped it
        self._brokers[key] = kafka
        while len(self._brokers) > _KEPT:
            self._brokers.pop(next(iter(self._brokers))).stop()
        return kafka

    def stop(self) -> None:
        with ExitStack() as stack:
            for kafka in self._brokers.values():
                stack.callback(kafka.stop)
            self._brokers.clear()


@pytest.fixture(scope="session")
def _kafka_pool() -> Iterator[_Pool]:
    pool = _Pool()
    yield pool
    pool.stop()


@pytest.fixture
def kafka(request: pytest.FixtureRequest, _kafka_pool: _Pool) -> Iterator[Kafka]:
    """A broker (pykbroker.testing.Kafka) that nobody has used; its settings are those of the marker ``kafka``."""
    yield from _given(request, _kafka_pool, "kafka", 1)


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest, _kafka_pool: _Pool) -> Iterator[Kafka]:
    """Three brokers of one cluster, or as many as the marker ``kafka`` says, that nobody has used."""
    yield from _given(request, _kafka_pool, "kafka_cluster", 3)


@pytest.fixture
def kafka_bootstrap(kafka: Kafka) -> str:
    """``host:port`` of the broker that the fixture ``kafka`` gives, as clients want it in ``bootstrap.servers``."""
    return kafka.bootstrap_servers


def _given(request: pytest.FixtureRequest, pool: _Pool, fixture: str, brokers: int) -> Iterator[Kafka]:
    settings, brokers, as_version, served_only, seed = _marked(request.node, brokers)
    kafka = pool.take(fixture, brokers, as_version, settings)
    request.node.stash.setdefault(_USED, {})[fixture] = kafka
    if seed is not None:
        kafka.seed(request.path.parent / seed if isinstance(seed, str | os.PathLike) else seed)
    yield kafka
    kafka.faults.clear()
    with ExitStack() as both:
        both.callback(kafka.faults.end)
        if served_only:
            kafka.check_served()


def _marked(item: pytest.Item, brokers: int) -> tuple[dict[str, Any], int, str | None, bool, Any]:
    """What the markers say, that of the function before that of its class and its module."""
    given: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("kafka"))):
        if len(marker.args) > 1 or any(not isinstance(each, dict) for each in marker.args):
            raise pytest.UsageError(
                f"@pytest.mark.kafka takes settings by keyword (num_partitions=3) or as one dictionary, not {marker.args}"
            )
        for settings in marker.args:
            given.update({name.replace("_", "."): value for name, value in settings.items()})
        given.update({name if name in _OWN else name.replace("_", "."): each for name, each in marker.kwargs.items()})
    count: Any = given.pop("brokers", brokers)
    if not isinstance(count, int) or count < 1:
        raise pytest.UsageError(f"@pytest.mark.kafka(brokers=...) is a number of brokers from 1 on, not {count!r}")
    served_only = bool(given.pop("served_only", False))
    as_version: str | None = given.pop("as_version", None)
    return given, count, as_version, served_only, given.pop("seed", None)


_OF_KAFKA = ("security", "users", "clock", "strict_faults", "racks")
_OWN = ("brokers", "served_only", "as_version", "seed", *_OF_KAFKA)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows what its brokers were asked, and what they logged."""
    report = yield
    if report.failed:
        for fixture, broker in item.stash.get(_USED, {}).items():
            report.sections += _sections(fixture, broker, report.when or "")
    return report


def _sections(fixture: str, broker: Kafka, when: str) -> Iterator[tuple[str, str]]:
    from pykbroker.runtime.escaping import escaped

    try:
        requests = broker.requests()
    except RuntimeError as error:  # the test stopped it
        yield f"{fixture}: requests at {when}", escaped(str(error))
    else:
        left_out = len(requests) - _SHOWN_REQUESTS
        shown = [escaped(str(each)) for each in requests[-_SHOWN_REQUESTS:]] or ["none"]
        before = [f"({left_out} before these)"] if left_out > 0 else []
        yield f"{fixture}: the last requests at {when}", "\n".join(before + shown)
    lines = broker.log_lines[-_SHOWN_LINES:]
    if lines:
        yield f"{fixture}: the last log lines at {when}", "\n".join(lines)
