"""The way between brokers of one process that each have their own copies: a request is answered in a later turn, as over a network, by the
handler of its API, without being encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pykbroker.runtime.waits import Deferred, as_wait, attempt
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.message import Message

_LISTENER = "memory"
_PRINCIPAL = "User:broker"


class PeerHandler(Protocol):
    """A handler's module, as peers ask it."""

    def handle(self, broker: Broker, ctx: RequestContext, request: Any, /) -> Any:
        """The answer, or a wait for it."""
        ...

    def logs_of(self, broker: Broker, version: int, request: Any, /) -> Iterable[Partition | None]:
        """The partitions whose logs are opened before."""
        ...


class Passage(NamedTuple):
    """What is on its way from one broker to another: a request, an answer, or the error in place of one."""

    sender: int
    receiver: int
    content: Message | BaseException | None
    #: One of both is called: it arrives, or is lost with its connection.
    arrive: Callable[[], None]
    lose: Callable[[], None]


class MemoryPeers:
    """See the module. ``handler_of`` gives the handler of an API key."""

    def __init__(
        self, brokers: Mapping[int, Broker], runtime: Runtime, handler_of: Callable[[int], PeerHandler]
    ) -> None:
        self._brokers = brokers
        self._runtime = runtime
        self._handler_of = handler_of
        #: Pairs of brokers, from and to, between which nothing passes.
        self.cut: set[tuple[int, int]] = set()
        #: Brokers that chaos has cut off from all others, one as often as it did so: what a test has cut stays when that is over.
        self.apart: list[int] = []
        #: Lets what is on its way arrive: in the next turn, unless a simulated network decides.
        self.carry: Callable[[Passage], None] = self._carry

    def of(self, node_id: int) -> PeersOf:
        """The peers of one broker."""
        return PeersOf(self, node_id)

    def cut_off(self, node_id: int, others: Iterable[int]) -> None:
        """Let nothing pass between a broker and others, until ``rejoin``."""
        for other in others:
            self.cut.update([(node_id, other), (other, node_id)])

    def rejoin(self, node_id: int) -> None:
        """End it. Harmless when repeated."""
        self.cut.difference_update([pair for pair in self.cut if node_id in pair])

    def _is_cut(self, sender: int, receiver: int) -> bool:
        return (sender, receiver) in self.cut or sender in self.apart or receiver in self.apart

    def ask(self, sender: int, node_id: int, request: Message, version: int) -> Deferred[Message]:
        """See ``Peers.ask``."""
        answer: Deferred[Message] = Deferred()
        arrive = partial(self._deliver, sender, node_id, request, version, answer)
        self.carry(Passage(sender, node_id, request, arrive, partial(_lost, node_id, answer)))
        return answer

    def _carry(self, passage: Passage) -> None:
        self._runtime.wake_queue.add(passage.arrive)

    def _deliver(self, sender: int, node_id: int, request: Message, version: int, answer: Deferred[Message]) -> None:
        broker = self._brokers.get(node_id)
        if broker is None or self._is_cut(sender, node_id):
            _lost(node_id, answer)
            return
        handler = self._handler_of(request.API_KEY)
        closed = broker.dormant.closed(handler.logs_of(broker, version, request))
        if closed:
            opened = broker.dormant.open(closed)
            opened.settled().map(lambda _: self._deliver(sender, node_id, request, version, answer)).or_log("opening")
            return
        ctx = RequestContext(request.API_KEY, version, 0, f"broker-{sender}", "", _LISTENER, _PRINCIPAL)
        handled = attempt(lambda: as_wait(handler.handle(broker, ctx, request)))
        answer.when_abandoned = handled.abandon
        handled.fold(partial(self._send_back, sender, node_id, broker, answer)).or_log("answering broker %d", sender)

    def _send_back(
        self, sender: int, node_id: int, broker: Broker, answer: Deferred[Message], done: Deferred[Any]
    ) -> None:
        answer.when_abandoned = None  # it is on its way, with news that the session counts as told
        arrive = partial(self._return, sender, node_id, broker, done, answer)
        self.carry(Passage(node_id, sender, done.error or done.result, arrive, partial(_lost, node_id, answer)))

    def _return(
        self, sender: int, node_id: int, broker: Broker, done: Deferred[Any], answer: Deferred[Message]
    ) -> None:
        """The answer of a broker that has stopped meanwhile is lost, as is one that nothing lets through."""
        if self._brokers.get(node_id) is not broker or self._is_cut(node_id, sender):
            _lost(node_id, answer)
        else:
            done.pass_to(answer)


def _lost(node_id: int, answer: Deferred[Message]) -> None:
    answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {node_id} is not reached"))


class PeersOf:
    """The other brokers, as one of them asks."""

    def __init__(self, peers: MemoryPeers, node_id: int) -> None:
        self._peers = peers
        self._node_id = node_id

    def ask(self, node_id: int, request: Message, version: int) -> Deferred[Message]:
        """See ``Peers.ask``."""
        return self._peers.ask(self._node_id, node_id, request, version)
