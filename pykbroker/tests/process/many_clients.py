"""Clients of every kind at the listeners of one broker, in a seed's own order, on virtual time and sockets in memory.

All of the broker is real, from the listener to the log: only the disk, the sockets and the threads are simulated.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from pykbroker.network.server import Server
from pykbroker.network.sockets import Bind
from pykbroker.process.life import Life
from pykbroker.process.limiting import Limiting
from pykbroker.process.secured import SecuredListeners
from pykbroker.process.single_brokers import SingleBrokers
from pykbroker.runtime.runtime import run_inline
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.tests.network.sayings import ask
from pykbroker.tests.network.virtual_loop import VirtualLoop, Wire
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest
from pykbroker.wire.records import Record, encode_batch
from pykbroker.worlds.disk import SimulatedDisk

LISTENERS: Final = {"PLAINTEXT": "PLAINTEXT", "BROKERS": "PLAINTEXT", "SASL": "SASL_PLAINTEXT"}
ADDRESSES: Final = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
MAX_FRAME: Final = 100_000
IDLE_MS: Final = 20_000
MOST_CLIENTS: Final = 14
#: The largest window that rates are counted in.
WINDOW_MS: Final = 1000
WINDOWS: Final = 3
_FAILED_DELAY_MS: Final = 100
_LONGEST_THREAD_MS: Final = 20
_SETTINGS: Final = {
    "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
    "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
    "inter.broker.listener.name": "BROKERS",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
    ),
    "connection.failed.authentication.delay.ms": str(_FAILED_DELAY_MS),
    "socket.request.max.bytes": str(MAX_FRAME),
    "connections.max.idle.ms": str(IDLE_MS),
    "max.incremental.fetch.session.cache.slots": "2",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "2000",
    "offsets.topic.num.partitions": "1",
    "quota.window.num": str(WINDOWS),
    "quota.window.size.seconds": str(WINDOW_MS // 1000),
}
#: What may be limited, with the values that it gets; the listeners' own stand for one broker alone.
LIMITS: Final = {
    "max.connections": (1, 2, 4, 8),
    "max.connections.per.ip": (1, 2, 3),
    "max.connection.creation.rate": (1, 2, 5, 20),
    "listener.name.plaintext.max.connections": (1, 2, 4),
    "listener.name.sasl.max.connections": (1, 2),
    "listener.name.brokers.max.connections": (1, 2),
    "listener.name.plaintext.max.connection.creation.rate": (1, 3, 10),
}
OVERRIDES: Final = "max.connections.per.ip.overrides"
_BROKER: Final = 4


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def fetch(offset: int, *, epoch: int, wait_ms: int) -> bytes:
    partition = FetchPartition(0, -1, offset, -1, -1, MAX_FRAME)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=10 * MAX_FRAME,
        session_epoch=epoch,
        topics=[FetchTopic("t", partitions=[partition])],
    )
    return framed(ask(request, 11))


VERSIONS: Final = framed(ask(ApiVersionsRequest("test", "1"), 3))
READ: Final = fetch(0, epoch=-1, wait_ms=0)
JOIN: Final = framed(
    ask(
        JoinGroupRequest(
            GROUP, 6000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", SUBSCRIBED_TO_T)]
        ),
        3,
    )
)
_BATCH: Final = encode_batch([Record(0, 1_700_000_000_000, None, bytes(12_000), [])])
PRODUCE: Final = framed(
    ask(
        ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=_BATCH)])],
        ),
        7,
    )
)
HANDSHAKE: Final = framed(ask(SaslHandshakeRequest("PLAIN"), 1))
RIGHT, WRONG = (framed(ask(SaslAuthenticateRequest(b"\0alice\0" + word), 1)) for word in (b"secret", b"wrong"))
_CORRELATION: Final = slice(8, 12)


class Client:
    """One connection of a client, from his side."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.rest = b""
        self.signed = wire.listener != "SASL"
        self._said = 0
        self._expected: deque[int] = deque()
        self._received = bytearray()

    def say(self, frame: bytes, share: float = 1.0) -> None:
        """A request, or its beginning; the rest comes with ``go_on``."""
        self._said += 1
        self._expected.append(self._said)
        frame = bytearray(frame)
        frame[_CORRELATION] = self._said.to_bytes(4, "big")
        cut = len(frame) if share == 1.0 else int(len(frame) * share)
        self.rest = bytes(frame[cut:])
        self.wire.send(bytes(frame[:cut]))

    def go_on(self) -> None:
        rest, self.rest = self.rest, b""
        self.wire.send(rest)

    def announce(self, size: int, sent: int) -> None:
        """A large frame, of which some comes, and no more."""
        self.rest = bytes(min(size, MAX_FRAME) - sent)
        self._expected.append(-1)  # it closes the connection, once it is whole
        self.wire.send(size.to_bytes(4, "big") + bytes(sent))

    def listen(self) -> None:
        """Read what was answered: in the order of the requests."""
        self._received += self.wire.take()
        while len(self._received) >= 8:
            size = int.from_bytes(self._received[:4], "big")
            if len(self._received) < 4 + size:
                return
            answered = int.from_bytes(self._received[4:8], "big")
            assert answered == self._expected.popleft(), "answers come in the order of requests"
            del self._received[: 4 + size]


class Crowd:
    """One run. ``note`` is told of each wire that was accepted, let in without limits, or ended."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: The limits, as they were set or altered.
        self.wanted: dict[str, Any] = {}
        self.rates: dict[str | None, int] = {}
        for name in self.random.sample(sorted(LIMITS), self.random.randint(0, 3)):
            self.wanted[name] = self.random.choice(LIMITS[name])
        self._explicit = dict(self.wanted)
        settings = _SETTINGS | {name: str(value) for name, value in self.wanted.items()}
        self.world = MemoryCluster(seed=seed, **{name.replace(".", "_"): value for name, value in settings.items()})
        self.loop = VirtualLoop(self.world.clock)
        self.most = self.random.choice((6, 1000))
        self.clients: list[Client] = []
        self._last_port = 0
        #: Ports of those who have joined the group.
        self.joined: set[int] = set()
        #: Calls that are in a thread.
        self.threads = 0
        #: Alterations under way.
        self.altering = 0
        self.has_group = self.random.random() < 0.3
        self._changing: asyncio.Task[None] | None = None

    def note(self, wire: Wire, what: str) -> None:
        """For who looks on."""

    # ---- the process --------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        self.server = Server(self.loop, self.most, self.world.dispatcher)
        self.limiting = Limiting(self.server, [1])
        self.secured = SecuredListeners(self.world.cluster.config, lambda: self.world.cluster, [1])
        self.ports = {
            name: await self.server.listen(1, Bind(name, "127.0.0.1", 0, self.secured.admission(1, name)), MAX_FRAME)
            for name in LISTENERS
        }
        self.sockets = self.server.sockets(1)
        self.brokers = SingleBrokers([1], self.server, asyncio.Lock(), lambda: self.world.lifecycle)
        await self._begin()
        if self.random.random() < 0.2:
            self._alter_quota("client-id", None, "producer_byte_rate", 100)

    async def _begin(self) -> None:
        world = self.world
        world.topic("t", 1)
        if self.has_group:
            world.coordinator(GROUP)
        self.life = Life(world.cluster)
        self.limiting.follow(self.life)
        self.secured.follow(self.life)
        self.server.take_up(world.cluster)
        runtime = world.cluster.runtime
        runtime.offload = runtime.offload_read = self._offload
        await self.server.start_serving()

    def _offload(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        later: Deferred[Any] = Deferred()

        def end() -> None:
            self.threads -= 1
            run_inline(function, *args).pass_to(later)

        self.threads += 1
        self.loop.call_later(self.random.randint(1, _LONGEST_THREAD_MS) / 1000, end)
        return later

    async def begin_again(self) -> None:
        """As Node does."""
        self.life.end(followed=True)
        self.server.forget_cluster()
        await asyncio.sleep(self.random.choice((0, 0.01)))
        self.world.disk = SimulatedDisk()
        self.world.start()
        self.wanted = dict(self._explicit)
        self.rates.clear()
        await self._begin()

    async def stop_and_start(self) -> None:
        await self.brokers.stop(1, abrupt=self.random.random() < 0.5)
        await asyncio.sleep(self.random.choice((0, 0, 0.05, 1)))
        await self.brokers.start(1)

    def change(self) -> None:
        """The process stops its broker, or begins anew, while everything else goes on."""
        if self._changing is None or self._changing.done():
            if self.random.random() < 0.5:
                self.alter()
            work = self.begin_again if self.random.random() < 0.3 else self.stop_and_start
            self._changing = self.loop.create_task(work())

    async def changed(self) -> None:
        """Wait for a change under way."""
        if self._changing is not None:
            await self._changing

    @property
    def is_changing(self) -> bool:
        return self._changing is not None and not self._changing.done()

    # ---- administrators -----------------------------------------------------------------------------------------------

    def alter(self) -> None:
        """A limit, or a client's quota."""
        if not self.world.cluster.brokers or self.is_changing or self.altering:
            return
        roll = self.random.random()
        if roll < 0.6:
            name = self.random.choice(sorted(LIMITS))
            self._alter_setting(name, None if self.random.random() < 0.3 else self.random.choice(LIMITS[name]))
        elif roll < 0.7:
            overrides = {each: self.random.randint(0, 3) for each in ADDRESSES if self.random.random() < 0.4}
            self._alter_setting(OVERRIDES, ",".join(f"{name}:{most}" for name, most in overrides.items()) or None)
        elif roll < 0.85:
            address = self.random.choice((None, *ADDRESSES))
            rate = self.random.choice((None, 1, 2, 10))
            self._alter_quota("ip", address, "connection_creation_rate", rate)
        else:
            self._alter_quota("client-id", None, "producer_byte_rate", self.random.choice((None, 100, 10_000)))

    def _alter_setting(self, name: str, value: Any) -> None:
        if value is None and name in self._explicit:
            return  # it would be what the file says
        operation = 1 if value is None else 0
        configs = [AlterableConfig(name, operation, None if value is None else str(value))]
        where = "1" if name.startswith("listener.name.") else ""

        def altered(answer: Any) -> None:
            assert not answer.responses[0].error_code, answer
            self.wanted[name] = value

        self._ask(IncrementalAlterConfigsRequest([AlterConfigsResource(_BROKER, where, configs)]), 1, altered)

    def _alter_quota(self, kind: str, name: str | None, key: str, value: float | None) -> None:
        operation = OpData(key, 0.0 if value is None else value, value is None)
        entry = AlterClientQuotasRequestEntryData([EntityData(kind, name)], [operation])

        def altered(answer: Any) -> None:
            assert not answer.entries[0].error_code, answer
            if kind == "ip":
                self.rates[name] = value

        self._ask(AlterClientQuotasRequest([entry]), 1, altered)

    def _ask(self, request: Any, version: int, then: Callable[[Any], None]) -> None:
        self.altering += 1
        cluster = self.world.cluster

        def answered(done: Deferred[Any]) -> None:
            self.altering -= 1
            if self.world.cluster is cluster:
                then(done.value)

        self.world.post(request, version).when_done(answered)

    # ---- clients ------------------------------------------------------------------------------------------------------

    def connect(self) -> None:
        listener = self.random.choice(("PLAINTEXT", "PLAINTEXT", "PLAINTEXT", "SASL", "BROKERS"))
        self._last_port += 1
        wire = Wire(self.loop, listener, self.random.choice(ADDRESSES), self._last_port, self.note)
        if self.loop.knock(wire, self.ports[listener]):
            self.clients.append(Client(wire))

    def say(self, client: Client) -> None:
        """One thing or another, whole or not."""
        if client.rest:
            client.go_on()
        elif not client.signed:
            client.say(HANDSHAKE)
            client.say(RIGHT if self.random.random() < 0.6 else WRONG)
            client.signed = True
        else:
            roll = self.random.random()
            if roll < 0.1:
                size = self.random.choice((1000, MAX_FRAME, MAX_FRAME + 1))
                client.announce(size, self.random.randint(0, 900))
            elif roll < 0.2:
                client.wire.reads = not client.wire.reads
            else:
                request = self._request()
                if request is JOIN:
                    self.joined.add(client.wire.port)
                client.say(request, self.random.choice((1.0, 1.0, 1.0, 0.0, 0.05, 0.5)))

    def _request(self) -> bytes:
        roll = self.random.random()
        if roll < 0.3:
            return VERSIONS
        if roll < 0.5:
            return PRODUCE
        if roll < 0.6:
            return READ
        if roll < 0.7 and self.has_group:
            return JOIN
        partition = self.world.cluster.partition("t", 0)
        end = 0 if partition is None else partition.log.log_end_offset
        return fetch(end, epoch=self.random.choice((-1, 0)), wait_ms=self.random.choice((100, 60_000)))

    def leave(self, client: Client) -> None:
        client.wire.leave(abruptly=self.random.random() < 0.4)
        self.clients.remove(client)

    # ---- in which order -----------------------------------------------------------------------------------------------

    async def work(self, steps: int) -> None:
        """The seed's own order of everything."""
        for _ in range(steps):
            self.step()
            roll = self.random.random()
            if roll < 0.4:
                await asyncio.sleep(0)
            elif roll < 0.7:
                await asyncio.sleep(self.random.randint(1, 50) / 1000)
            elif roll < 0.74:
                await asyncio.sleep(self.random.choice((0.5, 2, 30)))
            for client in self.clients:
                if client.wire.reads:
                    client.listen()

    def step(self) -> None:
        roll = self.random.random()
        here = self.clients
        if roll < 0.33 or not here:
            for _ in range(self.random.choice((1, 1, 1, 3, 8)) if len(here) < MOST_CLIENTS else 0):
                self.connect()
        elif roll < 0.7:
            self.say(self.random.choice(here))
        elif roll < 0.89:
            self.leave(self.random.choice(here))
        elif roll < 0.94:
            self.alter()
        elif roll < 0.97:
            self.loop.without_descriptors = self.random.randint(1, 2)
        elif roll < 0.985:
            self.loop.dead_on_arrival = 1
        else:
            self.change()

    async def all_leave(self) -> None:
        """Everybody goes, one way or another, and whatever had to wait for that has its time."""
        await self.changed()
        self.loop.dead_on_arrival = self.loop.without_descriptors = 0
        while self.clients:
            self.leave(self.clients[-1])
        await asyncio.sleep(2 * IDLE_MS / 1000 + 60)
