"""Brokers for tests: ``Kafka`` and ``KafkaCluster``, their start and stop; ``asking``, ``acting`` and ``observing`` have the other
methods.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import secrets
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.definition_set import CURRENT
from pykbroker.steered.clock import ManualTime
from pykbroker.steered.embedded import Embedded, Setup
from pykbroker.steered.intercept import WatchedDispatcher
from pykbroker.steered.separate import Separate
from pykbroker.testing import secured
from pykbroker.testing.actions import Actions
from pykbroker.testing.aio import Aio
from pykbroker.testing.faults import Faults
from pykbroker.testing.judging import Judging
from pykbroker.testing.log_lines import LogLines
from pykbroker.testing.observations import Observations
from pykbroker.testing.queries import read_seed
from pykbroker.testing.settings import texts

if TYPE_CHECKING:
    from typing import Unpack

    from pykbroker.faults.chaos import Chaos
    from pykbroker.process.life import Life
    from pykbroker.process.node import Node
    from pykbroker.releases.release import Release
    from pykbroker.security.ready_made import ReadyMade
    from pykbroker.testing.http_side import TestHttpSide
    from pykbroker.testing.keywords import Keywords

_numbers = itertools.count(1)
_running: weakref.WeakSet[Kafka] = weakref.WeakSet()


class Kafka(Judging, Actions, Observations):
    """One broker, or several of one cluster, in a thread of this process; a context manager.

    ``settings`` are Kafka's broker settings, by name or as keywords with underscores in place of dots. Data is in a temporary
    folder that is removed at the end, unless ``data_dir`` names one. Port 0 picks a free one. ``seed`` has the topics and
    records at the start and after each ``reset``: a file, a folder, or an equivalent object.

    ``racks`` names the rack of each broker, in the order of their ids; without it all have ``broker.rack``.

    ``http`` opens the HTTP side: a port, or ``host:port`` (0 picks a free one); ``http_address`` is its address.

    ``schema_registry`` opens a schema registry, whose state is a topic: True, a port, or ``host:port``; ``schema_registry_url`` is what clients are
    configured with.

    ``chaos`` is a seed, or text such as "7 profile=network intensity=2 quiet_after=30s", by which there befalls clients what Apache
    Kafka may do to them (docs/faults.md).

    ``as_version`` is the emulated release of Kafka: "2.8", "3.9", "4.3" or "4.4".

    With ``process=True`` the broker is a process of its own, which ends with this one: it can be killed, and leaves this
    process's CPU time to the clients. All methods but address, log and stop then raise RuntimeError.

    ``security`` is the listener's protocol, ``"ssl"``, ``"sasl_plaintext"`` or ``"sasl_ssl"``, with ``users`` (names and
    passwords) of PLAIN; ``self.security`` has the settings of clients.
    """

    def __init__(self, settings: Mapping[str, object] | None = None, **given: Unpack[Keywords]) -> None:
        """Raises ConfigError for an unknown setting or an invalid value, ValueError for no brokers or racks that are not one for each, and BadSeed or
        OSError for a seed that cannot be read.
        """
        super().__init__()
        brokers, racks, strict = given.pop("brokers", 1), given.pop("racks", None), given.pop("strict_faults", False)
        host, port, data_dir = given.pop("host", "127.0.0.1"), given.pop("port", 0), given.pop("data_dir", None)
        clock, process = given.pop("clock", "real"), given.pop("process", False)
        as_version, seed, chaos = given.pop("as_version", None), given.pop("seed", None), given.pop("chaos", None)
        security, users = given.pop("security", None), given.pop("users", None)
        http, schema_registry = given.pop("http", None), given.pop("schema_registry", False)
        _check(clock, racks, brokers, process=process)
        #: The helpers for coroutines.
        self.aio = Aio(self)
        name = f"pykbroker-{next(_numbers)}"
        self._lines = LogLines(name)
        self._security = None if security is None else secured.ready_made(security, users, host)
        release = _release(as_version)
        settings = texts(
            *(settings, given),
            host=host,
            port=port,
            manual=clock == "manual",
            security=self._security,
            definitions=CURRENT if release is None else release.definitions,
        )
        folder = None if data_dir is None else Path(data_dir)
        sown = None if seed is None else read_seed(seed)
        address = None if http is None else str(http)
        registry = None if schema_registry is False else "0" if schema_registry is True else str(schema_registry)
        secured_by = None if registry is None or self._security is None else self._security.protocol
        befalls = _chaos(chaos)
        self._separate = None
        if process:
            options = _serve_options(address, registry, secured_by, as_version, chaos, racks)
            token = None if address is None and registry is None else _token(settings, release)
            self._separate = Separate(settings, brokers, folder, sown, options, http_token=token)
        self._dispatcher = WatchedDispatcher(self._requests, self._requests.refused, release)
        time = ManualTime() if clock == "manual" else None
        followers = (self._waits.follow, self._began)
        setup = Setup(
            name,
            settings,
            brokers,
            folder,
            self._dispatcher,
            release,
            sown,
            time,
            self._requests,
            followers,
            befalls,
            racks,
        )
        self._embedded = Embedded(setup)
        self._faults = Faults(self._embedded, strict=strict)
        self._http_side = None if process else _http_side(address, registry, self._embedded, secured_by)

    # ---- from start to end -------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start; returns when clients are accepted. Raises StartFailed, and then leaves nothing open."""
        if self._separate is not None:
            self._separate.start()
            _running.add(self)
            return self
        self._lines.open()
        try:
            self._embedded.start()
            if self._http_side is not None:
                self._http_side.open()
        except BaseException:
            self._embedded.stop()
            self._lines.close()
            raise
        _running.add(self)
        return self

    def stop(self) -> None:
        """Stop the broker, and remove its data unless it has a ``data_dir``. Harmless when repeated."""
        _running.discard(self)
        if self._separate is not None:
            self._separate.stop()
        try:
            if self._http_side is not None:
                self._http_side.close()
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

    def forget_hooks(self) -> None:
        """Remove the functions of ``on_reset`` that a test added."""
        self._here.call(self._on_reset.clear)

    def _began(self, life: Life) -> None:
        life.at_end(lambda: self._tell_of_reset(life))
        life.at_end(self._requests.clear)
        life.at_end(self._faults.forget)

    def _tell_of_reset(self, life: Life) -> None:
        if life.followed:
            for tell in self._on_reset:
                tell()

    def _disown(self) -> None:
        if self._separate is not None:
            self._separate.disown()
        self._embedded.disown()

    @property
    def _here(self) -> Embedded:
        if self._separate is not None:
            raise RuntimeError(
                "this broker runs in a process of its own, which a test cannot look into: leave process=True out, or ask "
                "with a client at bootstrap_servers; a seed is given at the start, Kafka(process=True, seed=...), and faults "
                "are added by `pykbroker faults add --data-dir` with its data_dir"
            )
        return self._embedded

    # ---- while it runs ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        """The brokers themselves, to be used on their own thread. Raises RuntimeError if they do not run."""
        return self._here.node

    @property
    def running(self) -> bool:
        """Whether it is started and not stopped."""
        return (self._separate or self._embedded).running

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every running broker, separated by commas."""
        return ",".join((self._separate or self._embedded).addresses())

    @property
    def http_address(self) -> str:
        """``host:port`` of health, metrics and the interface for other languages. Raises RuntimeError without ``http``."""
        found = self.node.services.get("http") if self._separate is None else self._separate.http
        if found is None:
            raise RuntimeError("the HTTP side is off, or the broker is not running; write Kafka(http=0) to open it")
        return found

    @property
    def schema_registry_url(self) -> str:
        """The URL of the schema registry; where the broker is protected, with a user and a password. Raises RuntimeError without
        ``schema_registry``.
        """
        found = self.node.services.get("schema_registry") if self._separate is None else self._separate.schema_registry
        if found is None:
            raise RuntimeError(
                "there is no schema registry, or the broker is not running; write Kafka(schema_registry=True)"
            )
        from pykbroker.steered.http_options import registry_url

        return registry_url(found, self.http_token)

    @property
    def http_token(self) -> str | None:
        """What requests by HTTP must send, as ``Authorization: Bearer TOKEN``, where listeners or an authorizer protect the
        broker; else None.
        """
        if self._separate is not None:
            return self._separate.http_token
        return None if self._http_side is None else self._http_side.token

    @property
    def pid(self) -> int:
        """The id of the broker's process. Raises RuntimeError if it does not run."""
        return os.getpid() if self._separate is None else self._separate.pid

    @property
    def security(self) -> ReadyMade:
        """The authority, users, certificates and tokens of its listener, and the settings of clients. Raises RuntimeError
        without ``security``.
        """
        if self._security is None:
            raise RuntimeError('this broker has no security; write Kafka(security="sasl_ssl"), say')
        return self._security

    @property
    def _authority(self) -> str | None:
        return None if self._security is None else self._security.authority

    def renew_certificate(self, days: float = 365.0) -> None:
        """Give the broker another certificate, for new connections; with negative ``days`` an expired one."""
        _ = self._here
        self._ask_later(secured.alter, secured.another_certificate(self.security, days))

    @property
    def log_lines(self) -> list[str]:
        """The newest lines of the broker's log, from INFO on, whatever the test's own logging is set to."""
        return self._lines.newest() if self._separate is None else list(self._separate.lines)


class KafkaCluster(Kafka):
    """Three brokers of one cluster, or ``brokers``."""

    def __init__(self, settings: Mapping[str, object] | None = None, **given: Unpack[Keywords]) -> None:
        given.setdefault("brokers", 3)
        super().__init__(settings, **given)


def _check(clock: str, racks: Sequence[str] | None, brokers: int, *, process: bool) -> None:
    if clock not in ("real", "manual"):
        raise ValueError(f'clock is {clock!r}; write clock="manual" for time that advance() moves, or leave it out')
    if process and clock == "manual":
        raise ValueError('clock="manual" moves brokers of this process; leave process=True out')
    if brokers < 1:
        raise ValueError(f"brokers is {brokers}; write 1 or more")
    if racks is None:
        return
    if isinstance(racks, str) or len(racks) != brokers or not all(name.strip() and "," not in name for name in racks):
        raise ValueError(
            f'racks are {racks!r}; write a name without commas for each of the {brokers} brokers, as in ["a", "b"]'
        )


def _serve_options(
    http: str | None,
    registry: str | None,
    registry_listener: str | None,
    as_version: str | None,
    chaos: str | int | None,
    racks: Sequence[str] | None,
) -> list[tuple[str, str | None]]:
    return [
        ("--http", http),
        ("--schema-registry", registry),
        ("--schema-registry-listener", registry_listener),
        ("--as-version", as_version),
        ("--chaos", None if chaos is None else str(chaos)),
        ("--racks", None if racks is None else ",".join(racks)),
    ]


def _token(given: dict[str, str], release: Release | None) -> str | None:
    """A token for HTTP, if listeners or an authorizer protect the broker."""
    from pykbroker.steered.http_options import protected_by

    config = BrokerConfig(given, CURRENT if release is None else release.definitions)
    return None if protected_by(config) is None else secrets.token_urlsafe()


def _http_side(http: str | None, registry: str | None, host: Embedded, listener: str | None) -> TestHttpSide | None:
    if http is None and registry is None:
        return None
    from pykbroker.testing.http_side import TestHttpSide

    return TestHttpSide(http, registry, host, listener)


def _chaos(given: str | int | None) -> Chaos | None:
    if given is None:
        return None
    from pykbroker.faults.chaos import Chaos

    return Chaos.parse(given)


def _release(name: str | None) -> Release | None:
    if name is None:
        return None
    from pykbroker.releases.release import release

    return release(name)


@atexit.register
def _drop_all() -> None:
    """Clean up if the interpreter ends while brokers run."""
    for kafka in list(_running):
        kafka._embedded.drop()  # noqa: SLF001 - of this module


def _leave_to_parent() -> None:
    """In a forked child: no broker of the parent is the child's to stop or to remove."""
    for kafka in list(_running):
        kafka._disown()  # noqa: SLF001 - of this module
    _running.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
