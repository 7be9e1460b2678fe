"""A broker for tests, or several of one cluster: what a test is given, and what it can ask of it."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pykbroker.config.definitions.known import CURRENT
from pykbroker.testing import secured
from pykbroker.testing.aio import Aio
from pykbroker.testing.asking import Asking, read_seed
from pykbroker.testing.brokers import TestBroker, move_coordinator, move_leader
from pykbroker.testing.clock import ManualTime, duration
from pykbroker.testing.disk import DiskFaults
from pykbroker.testing.embedded import Embedded
from pykbroker.testing.faults import Faults
from pykbroker.testing.intercept import Interceptors, WatchedDispatcher
from pykbroker.testing.log_lines import LogLines
from pykbroker.testing.request_log import Request, RequestLog, chosen
from pykbroker.testing.separate import Separate
from pykbroker.testing.settings import texts

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.node import Node
    from pykbroker.releases.release import Release
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.ready_made import ReadyMade
    from pykbroker.seeding.reading import Seedable
    from pykbroker.sessions.comparing import Played
    from pykbroker.testing.beside import Beside

T = TypeVar("T")

_numbers = itertools.count(1)
_running: weakref.WeakSet[Kafka] = weakref.WeakSet()


class Kafka(Asking):
    """One broker, or several of one cluster, in a thread of this process, from ``with`` to its end.

    ``settings`` are Kafka's broker settings, by their names or as keywords with underscores in place of dots. Data lies in
    a temporary folder that goes with the broker, unless ``data_dir`` names one that stays. Port 0 picks a free one. ``seed``
    is what there is at the start and after each ``reset``: a file, a folder, or the object that a file would say.

    ``http`` opens the HTTP side: a port, or ``host:port`` (0 picks a free one); ``http_address`` says where it is.

    ``as_version`` names the release of Kafka that it is taken for: "2.8", "3.9" or "4.3".

    With ``process=True`` it is a process of its own, which ends with this one: to be killed, or to leave this one's time to
    the clients. Then what looks into the broker (all but its address, its log and its end) raises RuntimeError.

    ``security`` makes its listener one of ``"ssl"``, ``"sasl_plaintext"`` or ``"sasl_ssl"``, with ``users`` (names and passwords)
    of PLAIN; what clients need for it, ``self.security`` has.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        brokers: int = 1,
        host: str = "127.0.0.1",
        port: int = 0,
        data_dir: str | Path | None = None,
        clock: str = "real",
        as_version: str | None = None,
        strict_faults: bool = False,
        seed: Seedable | None = None,
        process: bool = False,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
        http: str | int | None = None,
        **more_settings: object,
    ) -> None:
        """Raises ConfigError for a setting that Kafka does not have, or whose value is bad, and BadSeed or OSError for a seed
        that cannot be read.
        """
        super().__init__()
        if clock not in ("real", "manual"):
            raise ValueError(f'clock is {clock!r}; write clock="manual" for time that advance() moves, or leave it out')
        #: The helpers for coroutines.
        self.aio = Aio(self)
        self._interceptors = Interceptors()
        self._on_reset: list[Callable[[], None]] = []
        self._requests = RequestLog()
        self._interceptors.steps.append(self._requests)
        self._on_reset.append(self._requests.clear)
        if process and clock == "manual":
            raise ValueError('clock="manual" moves brokers of this process; leave process=True out')
        name = f"pykbroker-{next(_numbers)}"
        self._security = None if security is None else secured.ready_made(security, users, host)
        release = _release(as_version)
        definitions = CURRENT if release is None else release.definitions
        given = texts(
            *(settings, more_settings),
            host=host,
            port=port,
            manual=clock == "manual",
            security=self._security,
            definitions=definitions,
        )
        folder = None if data_dir is None else Path(data_dir)
        self._lines = LogLines(name)
        sown = None if seed is None else read_seed(seed)
        asked = None if http is None else str(http)
        self._separate = Separate(given, brokers, folder, sown, asked, as_version) if process else None
        self._dispatcher = WatchedDispatcher(self._interceptors, self._requests.refused, release)
        self._embedded = Embedded(name, given, brokers, folder, self._dispatcher, release)
        self._embedded.seed = sown
        if clock == "manual":
            self._embedded.time = ManualTime()
        self._faults = Faults(self._embedded, strict=strict_faults)
        self._by_id: dict[int, TestBroker] = {}
        self._beside: Beside | None = None
        if asked is not None and not process:
            from pykbroker.testing.beside import Beside  # noqa: PLC0415 - start-up counts

            self._beside = Beside(asked, self._embedded, self._requests)
        self._on_reset.append(self._faults.forget)
        self._embedded.ending = self._ending
        self._embedded.begun = lambda node: self._waits.follow(node.cluster)

    # ---- from start to end -------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Come back when clients are accepted. Raises StartFailed; then nothing is left behind."""
        if self._separate is not None:
            self._separate.start()
            return self
        self._lines.open()
        try:
            self._embedded.start()
            if self._beside is not None:
                self._beside.open()
        except BaseException:
            self._embedded.stop()
            self._lines.close()
            raise
        _running.add(self)
        return self

    def stop(self) -> None:
        """End the broker, and remove its data unless it was given a folder. Harmless when repeated."""
        _running.discard(self)
        if self._separate is not None:
            self._separate.stop()
        try:
            if self._beside is not None:
                self._beside.close()
            self._embedded.stop()
        finally:
            self._lines.close()
        self._faults.end()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _ending(self) -> None:
        for tell in self._on_reset:
            tell()

    @property
    def _here(self) -> Embedded:
        if self._separate is not None:
            raise RuntimeError(
                "this broker runs in a process of its own, which a test cannot look into: leave process=True out, or ask "
                "with a client at bootstrap_servers; a seed is given at the start, Kafka(process=True, seed=...), and faults "
                "are added by `pykbroker faults add --data-dir` with its data_dir"
            )
        return self._embedded

    @property
    def _cluster(self) -> Cluster:
        return self._here.node.cluster

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        try:
            return self._here.begin(work)
        except RuntimeError:
            work.close()
            raise

    # ---- while it runs ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """The brokers themselves; they belong to their own thread. Raises RuntimeError where they do not run."""
        return self._here.node

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return (self._separate or self._embedded).running

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker that runs, with commas between, as clients want it."""
        return ",".join((self._separate or self._embedded).addresses())

    @property
    def http_address(self) -> str:
        """``host:port`` of health, metrics and the interface for other languages. Raises RuntimeError without ``http``."""
        found = self.node.http if self._separate is None else self._separate.http
        if found is None:
            raise RuntimeError("the HTTP side is off, or the broker is not running; write Kafka(http=0) to open it")
        return found

    @property
    def pid(self) -> int:
        """The process that the broker runs in. Raises RuntimeError where it does not run."""
        return os.getpid() if self._separate is None else self._separate.pid

    @property
    def security(self) -> ReadyMade:
        """The authority, users, certificates and tokens of its listener, and the settings of clients. Raises RuntimeError for
        a broker without.
        """
        if self._security is None:
            raise RuntimeError('this broker has no security; write Kafka(security="sasl_ssl"), say')
        return self._security

    def renew_certificate(self, days: float = 365.0) -> None:
        """Give the broker another certificate, for new connections; with fewer days than none, one that has run out."""
        _ = self._here
        self._ask_later(secured.alter, secured.another_certificate(self.security, days))

    def reset(self) -> None:
        """As at the start: topics, groups, transactions, credentials, faults and settings altered at run time are gone, the disk is
        whole, and connections of clients are cut. It takes as long however much there was. Raises RuntimeError for a broker with a ``data_dir``.
        """
        self._here.reset()

    def snapshot(self, name: str) -> None:
        """Keep all data as it is now under ``name``, for ``restore``; what was kept under it before is replaced."""
        self._here.snapshot(name)

    def restore(self, name: str) -> None:
        """Go on with the data of a snapshot; connections of clients are cut. Raises LookupError where there is none of
        that name, and RuntimeError for a broker with a ``data_dir``.
        """
        self._here.restore(name)

    def forget_snapshots(self) -> None:
        """What ``snapshot`` kept goes."""
        self._here.forget_snapshots()

    @property
    def log_lines(self) -> list[str]:
        """The newest lines of the broker's log, from INFO on, whatever the test's own logging is set to."""
        return self._lines.newest() if self._separate is None else list(self._separate.lines)

    def unserved(self) -> list[Request]:
        """Requests whose connections were closed instead of an answer, for their API or its version is not served, or they
        were malformed; each says why in ``refused``.
        """
        return [each for each in self.requests() if each.refused is not None]

    def check_served(self) -> None:
        """Raises AssertionError where clients sent what is not served."""
        found = self.unserved()
        if found:
            raise AssertionError("clients sent what is not served:\n" + "\n".join(map(str, found)))

    def requests(
        self, api: str | None = None, *, client_id: str | None = None, topic: str | None = None
    ) -> list[Request]:
        """What clients sent since the start or the last reset, in its order: all, or of an API, a client, about a topic.
        The newest thousand are kept. Raises ValueError for an API that Kafka does not have.
        """
        return chosen(self._here.call(list, self._requests), api, client_id, topic)

    @contextmanager
    def recording(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Write a file with every request that clients send until the end of ``with``, and what each was answered, for
        ``play``. Raises RuntimeError where another recording is under way.
        """
        from pykbroker.sessions.recording import Recorder  # noqa: PLC0415 - start-up counts

        if self._dispatcher.recorder is not None:
            raise RuntimeError("a session is being recorded already; end its `with` first")
        recorder = Recorder()
        self._here.call(setattr, self._dispatcher, "recorder", recorder)
        try:
            yield
        finally:
            if self._here.running:
                self._here.call(setattr, self._dispatcher, "recorder", None)
            self._dispatcher.recorder = None
            recorder.session.write(Path(path))

    def play(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Played:
        """Send what is recorded in a file to this broker, and say which answers differ. Raises BadSession with the line of
        what is wrong.
        """
        return play(path, self.bootstrap_servers, timeout=timeout)

    @property
    def interceptors(self) -> Interceptors:
        """What looks at requests and acts on them, the outermost first."""
        _ = self._here
        return self._interceptors

    @property
    def on_reset(self) -> list[Callable[[], None]]:
        """Called by ``reset`` and ``restore`` on the broker's thread, just before the clients are cut off."""
        _ = self._here
        return self._on_reset

    # ---- what goes wrong, and when -------------------------------------------------------------------------------------

    @property
    def faults(self) -> Faults:
        """Rules by which requests go wrong."""
        _ = self._here
        return self._faults

    @property
    def disk(self) -> DiskFaults:
        """How the disk fails."""
        return self._here.disk

    def broker(self, node_id: int) -> TestBroker:
        """One broker: to be stopped, killed, paused, started again. Raises ValueError where there is none of that id."""
        known = list(self.node.addresses())
        if node_id not in known:
            raise ValueError(f"there is no broker {node_id}; these are: {', '.join(map(str, known))}")
        return self._by_id.setdefault(node_id, TestBroker(self._here, self._faults, node_id))

    def move_leader(self, topic: str, partition: int, *, to: int) -> None:
        """Let another broker lead a partition, in a new leader epoch. Raises ValueError where it has no replica in sync."""
        self._here.call(lambda: move_leader(self._cluster, topic, partition, to))

    def move_coordinator(self, *, to: int, group: str | None = None, transactional_id: str | None = None) -> None:
        """Let another broker coordinate a group or a transactional id, and all others of its shard. Raises ValueError."""
        self._here.call(lambda: move_coordinator(self._cluster, to, group=group, transactional_id=transactional_id))

    def advance(self, text: str | float | None = None, **units: float) -> None:
        """Let time pass: ``advance("45s")``, ``advance(seconds=45)``; come back when all that became due has been done.
        Raises ValueError for a text that is no duration, and RuntimeError without ``clock="manual"``.
        """
        time = self._here.time
        if time is None:
            raise RuntimeError('time passes by itself here; write Kafka(clock="manual") to move it')
        self._run(time.advance(duration(text, units)))

    def run_retention(self) -> None:
        """Do now what log.retention.check.interval.ms would do later."""
        self._run(self._round(self.node.housekeeping.run_retention))

    def run_compaction(self) -> None:
        """Compact now what is due by its topic's settings."""
        self._run(self._round(self.node.housekeeping.run_compaction))

    @staticmethod
    async def _round(work: Callable[[], Deferred[None]]) -> None:
        over = asyncio.Event()
        running = work()
        running.settled().map(lambda _: over.set()).or_log("a round of housekeeping")
        await over.wait()
        _ = running.value


class KafkaCluster(Kafka):
    """Three brokers of one cluster, or as many as ``brokers`` says."""

    def __init__(self, settings: Mapping[str, object] | None = None, *, brokers: int = 3, **more: Any) -> None:
        super().__init__(settings, brokers=brokers, **more)


def play(path: str | os.PathLike[str], bootstrap_servers: str, *, timeout: float = 30.0) -> Played:
    """Send what is recorded in a file to any broker of Kafka's protocol, and say which answers differ. Raises BadSession with
    the line of what is wrong, OSError, and ValueError where the session has more brokers than there are.
    """
    from pykbroker.sessions import playing  # noqa: PLC0415 - start-up counts

    return playing.play(Path(path), bootstrap_servers, timeout_s=timeout)


def _release(name: str | None) -> Release | None:
    if name is None:
        return None
    from pykbroker.releases.release import release  # noqa: PLC0415 - start-up counts

    return release(name)


@atexit.register
def _drop_all() -> None:
    """An interpreter that ends in the middle leaves nothing behind either."""
    for kafka in list(_running):
        kafka._embedded.drop()  # noqa: SLF001 - of this module
