"""Connections between clients and brokers: ordered, as TCP's are, and slow, cut, or cut once the work is done.

A request that is cut off is either lost before it arrives, or carried out and its answer lost; the client cannot tell.
Nothing that a client sent on a connection arrives after that connection was cut.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

from pykbroker.handlers.contract import NotYet
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.server import LISTENER
from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.simulation.world import World


#: So long an answer may take that waits for nothing but the disk and other brokers.
LONGEST_ANSWER_MS = 5000
#: What waits for others, as long as the client or the group says.
_PATIENT = frozenset({ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})


class Disconnected(Exception):
    """The connection was cut, or nobody listens. What was asked may have been done, or not."""


@dataclass(slots=True)
class NetworkFaults:
    """How unkind the network is, as shares of all requests."""

    lost_requests: float = 0.0
    lost_answers: float = 0.0
    #: Requests and answers that take up to ``longest_delay_ms`` in place of a few milliseconds.
    delayed: float = 0.0
    longest_delay_ms: int = 5000


class Network:
    """The connections there are, and the faults that befall them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.faults = NetworkFaults()
        #: How often each fault struck.
        self.seen = {"lost request": 0, "lost answer": 0, "delay": 0}
        #: Requests that a broker has left without an answer for too long, in words.
        self.overdue: list[str] = []
        self._random = world.randomness("network")
        self._links: dict[Link, None] = {}
        world.server.died.append(lambda _: self.cut_all())

    def connect(self, node: int, client_id: str) -> Link:
        """A new connection to a broker; one to a broker that is down is found dead by the first request."""
        link = Link(self, node, client_id)
        self._links[link] = None
        return link

    def forget(self, link: Link) -> None:
        """The connection is cut."""
        self._links.pop(link, None)

    def cut_all(self) -> None:
        """The server died, and all its connections with it."""
        for link in list(self._links):
            link.cut()

    def look_for_overdue(self) -> None:
        """Look at all that is asked and not answered yet; what ends otherwise is looked at when it does."""
        for link in self._links:
            link.look_for_overdue()

    def latency_ms(self) -> int:
        """How long the next piece of data is under way."""
        if self._random.random() < self.faults.delayed:
            self.seen["delay"] += 1
            return self._random.randint(50, self.faults.longest_delay_ms)
        return self._random.randint(0, 4)

    def strikes(self, fault: str, share: float) -> bool:
        """Whether this fault befalls the present request."""
        struck = self._random.random() < share
        if struck:
            self.seen[fault] += 1
        return struck


class _SentRequest:
    """A request on its way, and the answer once it is there."""

    __slots__ = ("answer", "arrived_ms", "correlation_id", "deferred", "key", "result", "version")

    def __init__(self, correlation_id: int, key: int, version: int) -> None:
        self.correlation_id = correlation_id
        self.key = key
        self.version = version
        self.deferred: Deferred[Any] = Deferred()
        self.answer: bytes | None = None
        #: When it came to the broker, where it did.
        self.arrived_ms: int | None = None
        #: What the broker works towards.
        self.result: Deferred[Any] | None = None


class Link:
    """One connection. The broker sees its attributes as those of a ``connection.Connection``."""

    def __init__(self, network: Network, node: int, client_id: str) -> None:
        self.node = node
        self.host = "127.0.0.1"
        self.port = 40_000
        self.local_host = "127.0.0.1"
        self.listener = LISTENER
        self.principal = "User:ANONYMOUS"
        self.by_token = False
        self.client_software = ("unknown", "unknown")
        self.closed = self.is_lost = False
        self.when_lost: dict[object, Callable[[], None]] | None = None
        self._network = network
        self._world = network.world
        self._client_id = client_id
        self._correlation_id = 0
        self._sent: deque[_SentRequest] = deque()
        self._arrived: deque[tuple[_SentRequest, bytes]] = deque()
        self._holds = 0
        self._hands_in = False
        self._sent_last_ms = self._answered_last_ms = 0

    def send(self, request: Message, version: int) -> Deferred[Any]:
        """The answer, decoded; fails with Disconnected. Requests and answers keep their order."""
        self._correlation_id += 1
        sent = _SentRequest(self._correlation_id, request.API_KEY, version)
        frame = FrameWriter()
        encode_request_header(frame, RequestHeader(sent.key, version, sent.correlation_id, self._client_id))
        request.encode(frame, version)
        data = b"".join(frame.finish())[4:]
        self._sent.append(sent)
        self._sent_last_ms = max(self._sent_last_ms, self._world.now_ms + self._network.latency_ms())
        self._world.at(self._sent_last_ms - self._world.now_ms, partial(self._arrive, sent, data))
        return sent.deferred

    def cut(self) -> None:
        """End the connection; whoever waits for an answer learns it a moment later."""
        if self.closed:
            return
        self.closed = True
        self._network.forget(self)
        self.look_for_overdue()
        for sent in self._sent:
            if sent.result is not None:
                sent.result.abandon()
            self._world.at(1, partial(sent.deferred.fail, Disconnected()))
        self._sent.clear()
        self.is_lost = True
        told, self.when_lost = self.when_lost, None
        self._world.server.tell((told or {}).values())

    def look_for_overdue(self) -> None:
        """Tell the network of requests that were not answered in time."""
        for sent in self._sent:
            self._look_at(sent)

    def _look_at(self, sent: _SentRequest) -> None:
        if sent.answer is None and sent.arrived_ms is not None and sent.key not in _PATIENT:
            waited_ms = self._world.now_ms - sent.arrived_ms
            if waited_ms > LONGEST_ANSWER_MS:
                what = f"{ApiKey(sent.key).name} {sent.correlation_id}"
                self._network.overdue.append(f"{self._client_id} waits for its {what} for {waited_ms} ms")

    # At the broker

    def _arrive(self, sent: _SentRequest, frame: bytes) -> None:
        faults = self._network.faults
        if self.closed:
            return
        if self._world.server.cluster is None or self._network.strikes("lost request", faults.lost_requests):
            self.cut()
            return
        sent.arrived_ms = self._world.now_ms
        self._arrived.append((sent, frame))
        if len(self._arrived) == 1:
            self._take_up()

    def _take_up(self) -> None:
        """Hand frames to the broker in their order; one that it cannot handle yet holds up those behind it."""
        while self._arrived and not self.closed and not self._holds:
            sent, frame = self._arrived[0]
            self._hands_in = True
            try:
                result = self._world.server.handle(self.node, self, memoryview(bytearray(frame)))
            except NotYet as error:
                self.hold(error.until)
                continue
            finally:
                self._hands_in = False
            self._arrived.popleft()
            self._world.note(f"{self._client_id} asks {self.node} {ApiKey(sent.key).name} {sent.correlation_id}")
            if isinstance(result, Deferred):
                sent.result = result
            if self._network.strikes("lost answer", self._network.faults.lost_answers):
                self.cut()
            elif isinstance(result, Deferred):
                result.when_done(partial(self._wait, sent))
            elif result is not None:
                self._answer(sent, result)

    def hold(self, until: Deferred[Any]) -> None:
        """Hand in no further frame before ``until`` is done."""
        if not until.done:
            self._holds += 1
            until.when_done(lambda _: self._release())

    def _release(self) -> None:
        self._holds -= 1
        if not self._hands_in:  # otherwise the broker ends it in the turn that began it, and the next frame follows
            self._take_up()

    def _wait(self, sent: _SentRequest, done: Deferred[Any]) -> None:
        self._answer(sent, done.value)

    def _answer(self, sent: _SentRequest, pieces: list[Any]) -> None:
        self._look_at(sent)
        sent.answer = b"".join(bytes(piece) for piece in pieces)[4:]
        self._world.note(f"{self._client_id} is answered {sent.correlation_id} {crc32(sent.answer):08x}")
        while self._sent and (answer := self._sent[0].answer) is not None:
            self._deliver(self._sent.popleft(), answer)

    def _deliver(self, sent: _SentRequest, answer: bytes) -> None:
        def arrive() -> None:
            if self.closed:
                sent.deferred.fail(Disconnected())
                return
            correlation_id, pos = decode_response_header(answer, 0, sent.key, sent.version)
            assert correlation_id == sent.correlation_id
            sent.deferred.complete(response_class(sent.key).decode(answer, pos, sent.version)[0])

        self._answered_last_ms = max(self._answered_last_ms, self._world.now_ms + self._network.latency_ms())
        self._world.at(self._answered_last_ms - self._world.now_ms, arrive)
