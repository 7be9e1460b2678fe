"""Bytes of those who have not signed in: what clients say before and during SASL and TLS, spoiled, to real connections in memory.

``Strangers`` counts what must never be: a request that is handled, an identity, an error that nobody expected.
``python -m pykbroker.tests.network.strangers FRAMES [SEED [TLS_EVERY]]`` sends as many as wanted, and says what came of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import random
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from pykbroker.network.connection import Connection
from pykbroker.network.receive_block import shared_block
from pykbroker.process.life import Life
from pykbroker.process.secured import SecuredListeners
from pykbroker.requests.pipeline import Place, through
from pykbroker.tests.kit.certificates import authority, now_ms, written
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.secured import client_context
from pykbroker.tests.network.sayings import DELAY_MS, INTERESTING, Part, Spoiling, ask, scripts, settings
from pykbroker.tests.network.tls_records import SpoiledRecords
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from pykbroker.wire.messages.metadata import MetadataRequest

#: One connection of so many is by TLS: a handshake costs as much as many frames.
TLS_EVERY: Final = 200
_ALICE: Final = Peer(listener="SASL", principal="User:alice")


class Wire(asyncio.Transport):
    """Takes what is written, and tells the protocol in the next turn that it was closed."""

    def __init__(self, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._protocol = cast("asyncio.BufferedProtocol", protocol)
        self.sent = bytearray()
        self.is_closed = False
        protocol.connection_made(self)

    def receive(self, data: bytes) -> None:
        """What the client has sent."""
        while data and not self.is_closed:
            room = self._protocol.get_buffer(-1)
            some = min(len(room), len(data))
            room[:some] = data[:some]  # type: ignore[index]
            self._protocol.buffer_updated(some)
            data = data[some:]

    def write(self, data: Any) -> None:
        self.sent += data

    def writelines(self, pieces: Any) -> None:
        self.sent += b"".join(pieces)

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def end(self) -> None:
        """The client has gone."""
        self.is_closed = True
        self._protocol.connection_lost(None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("192.0.2.1", 4000) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


class Strangers:
    """See the module. ``says`` is what they say, where that is something else, ``more`` further settings of the broker; one connection of ``tls_every`` is by TLS. ``found`` is what must not be, in words; ``slowest_s`` the longest that what came at once took of the CPU."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        says: Sequence[Sequence[Part]] | None = None,
        more: Mapping[str, str] = MappingProxyType({}),
        tls_every: int = TLS_EVERY,
    ) -> None:
        self._random = random.Random(seed)
        self._world = MemoryCluster(
            seed=seed,
            **{name.replace(".", "_"): value for name, value in {**settings(folder), **more}.items()},
        )
        self._admit_alice()
        token = self._made_token()
        self._listeners = SecuredListeners(self._world.cluster.config, lambda: self._world.cluster, [1])
        self._listeners.follow(Life(self._world.cluster))
        self._world.dispatcher.places.fill(Place.OBSERVE, through(self._handled))
        self._block = shared_block()
        self._scripts = list(scripts(token)) if says is None else says
        self._without_tls = ("SASL", "LAX") if says is None else ("SASL",)
        self._tls_every = tls_every
        self._spoil = Spoiling(self._random, self._scripts)
        self._spoil_records = SpoiledRecords(self._random, self._spoil)
        self._contexts = [_client(folder, version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]
        self.frames = 0
        self.connections = 0
        self.found: Counter[str] = Counter()
        self.closed = 0
        self.answered = 0
        self.slowest_s = 0.0
        self._errors = _Errors(self.found)

    def send(self, frames: int) -> None:
        """As many spoiled frames, over as many connections as that takes."""
        until = self.frames + frames
        log = logging.getLogger("pykbroker")
        level = log.level
        log.setLevel(logging.ERROR)
        log.addHandler(self._errors)
        try:
            while self.frames < until:
                self.connections += 1
                if self.connections % self._tls_every:
                    self._by_sasl()
                else:
                    self._by_tls()
        finally:
            log.removeHandler(self._errors)
            log.setLevel(level)

    # ---- one connection ----------------------------------------------------------------------------------------------

    def _by_sasl(self) -> None:
        connection, wire = self._connect(self._random.choice(self._without_tls))
        script = self._random.choice(self._scripts)
        spoiled_at = self._random.randrange(len(script))
        for number, part in enumerate(script):
            frame = part(bytes(wire.sent)) if callable(part) else part
            self._receive(wire, self._framed(frame, spoiled=number >= spoiled_at))
        self._finish(connection, wire)

    def _by_tls(self) -> None:
        """The certificate that is shown is another authority's, so that nobody gets in by what is not spoiled."""
        listener = self._random.choice(("BOTH", "CERTS"))
        connection, wire = self._connect(listener)
        client = _TlsClient(self._random.choice(self._contexts))
        says = iter(self._random.choice(self._scripts))
        spoiled_at = self._random.randrange(6)
        for flight in range(8):
            data = client.step(partial(self._said, says, listener))
            if not data:
                break
            pieces: Iterable[bytes] = [data]
            if flight >= spoiled_at:
                self.frames += 1
                pieces = self._spoil_records.pieces(self._spoil_records(data))
            self._receive(wire, *pieces)
            self._world.settle()
            client.receive(bytes(wire.sent))
            wire.sent.clear()
        self._finish(connection, wire)

    def _said(self, says: Iterator[Part], listener: str, heard: bytes) -> bytes:
        """What is said within TLS, spoiled where all may come to that."""
        if listener == "CERTS":
            asked = ask(MetadataRequest(None), 9)
            return len(asked).to_bytes(4, "big") + asked
        part = next(says, b"")
        return self._framed(part(heard) if callable(part) else part, spoiled=True)

    def _connect(self, listener: str) -> tuple[Connection, Wire]:
        world = self._world
        connection = Connection(
            world.cluster.brokers[1], world.dispatcher, listener, 1 << 20, self._block, lambda _: None
        )
        admission = self._listeners.admission(1, listener)
        assert admission is not None
        return connection, Wire(admission.admit(connection, world.dispatcher, self._block))

    def _receive(self, wire: Wire, *pieces: bytes) -> None:
        began = time.thread_time()
        for piece in pieces:
            wire.receive(piece)
        self.slowest_s = max(self.slowest_s, time.thread_time() - began)

    def _finish(self, connection: Connection, wire: Wire) -> None:
        self._world.advance(DELAY_MS)
        if connection.principal != "User:ANONYMOUS":
            self.found[f"somebody is {connection.principal}"] += 1
        self.closed += wire.is_closed
        self.answered += bool(wire.sent)
        wire.end()
        if connection.authentication_timer is not None:
            self.found["a connection that ended is still waited for"] += 1

    # ---- bytes -------------------------------------------------------------------------------------------------------

    def _framed(self, frame: bytes, *, spoiled: bool) -> bytes:
        if not spoiled:
            return len(frame).to_bytes(4, "big") + frame
        self.frames += 1
        frame = self._spoil(frame)
        size = len(frame) if self._random.random() < 0.95 else self._random.choice(INTERESTING)
        return size.to_bytes(4, "big") + frame

    # ---- what must not be ----------------------------------------------------------------------------------------------

    def _handled(self, broker: Any, ctx: Any, request: Any, proceed: Callable[[], Any]) -> Any:
        if ctx.api_key != ApiKey.API_VERSIONS and ctx.connection is not None:
            self.found[f"{ApiKey(ctx.api_key).name} was handled for somebody who did not sign in"] += 1
        return proceed()

    def _admit_alice(self) -> None:
        """One credential of SCRAM that nobody here proves."""
        for mechanism, size in ((1, 32), (2, 64)):
            upsertion = ScramCredentialUpsertion("alice", mechanism, 4096, b"salt", b"s" * size)
            self._world.ask(AlterUserScramCredentialsRequest([], [upsertion]), 0)

    def _made_token(self) -> str:
        """The id of a delegation token of alice, whose secret nobody here knows."""
        asked = CreateDelegationTokenRequest(max_lifetime_ms=-1)
        return str(self._world.ask(asked, 3, peer=_ALICE).token_id)


class _TlsClient:
    """On two blocks of memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self._heard = bytearray()

    def receive(self, data: bytes) -> None:
        self._incoming.write(data)

    def step(self, say: Callable[[bytes], bytes]) -> bytes:
        """What is sent next; once the handshake is over that is what ``say`` says to what was heard."""
        with contextlib.suppress(ssl.SSLError):  # it wants more, or is told that this does not work
            self._tls.do_handshake()
            with contextlib.suppress(ssl.SSLWantReadError):
                self._heard += self._tls.read()
            self._tls.write(say(bytes(self._heard)))
        return self._outgoing.read()


def _client(folder: Path, version: ssl.TLSVersion) -> ssl.SSLContext:
    stranger = authority("Other CA").issue("alice", now_ms())
    context = client_context(written(folder, "stranger.pem", stranger.pem))
    context.minimum_version = context.maximum_version = version
    return context


class _Errors(logging.Handler):
    """What was logged as an error: nobody's bytes are one."""

    def __init__(self, found: Counter[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._found[f"{record.getMessage()}: {error!r}"] += 1


def main(frames: int, seed: int, tls_every: int) -> None:
    """Prints what came of it, from time to time and at the end."""
    with tempfile.TemporaryDirectory() as folder:
        strangers = Strangers(Path(folder), seed, tls_every=tls_every)
        began = time.monotonic()
        while strangers.frames < frames:
            strangers.send(min(frames // 20 + 1, frames - strangers.frames))
            gc.collect()
            sys.stdout.write(
                f"{strangers.frames} frames, {strangers.connections} connections ({strangers.closed} closed by the broker, "
                f"{strangers.answered} answered), {sys.getallocatedblocks()} blocks of memory, "
                f"slowest {strangers.slowest_s * 1000:.1f} ms, "
                f"{time.monotonic() - began:.0f} s; found: {dict(strangers.found) or 'nothing'}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*given, *(1, TLS_EVERY)[len(given) - 1 :])
