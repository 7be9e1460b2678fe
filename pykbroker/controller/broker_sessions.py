"""Sessions of brokers in other processes: each lasts ``broker.session.timeout.ms`` after a heartbeat (KIP-631).

A pure machine: time is an argument, and what it decides others make records of. Brokers in the controller's process have no session:
they come and go by calls. Rules: BrokerHeartbeatManager and BrokerHeartbeatTracker of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest


class ControlState(Enum):
    """What the controller lets a broker do."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    #: It still answers while its leaderships move.
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    #: It may end now.
    SHUTDOWN_NOW = "shutdown"

    @property
    def fenced(self) -> bool:
        return self in (ControlState.FENCED, ControlState.SHUTDOWN_NOW)


@dataclass(slots=True)
class _Session:
    epoch: int
    #: The offset of the registration's record, up to which the broker must know the metadata before it is unfenced.
    registered_at: int
    contact_ms: int | None = None
    #: The offset up to which the broker knows the metadata.
    metadata_offset: int = -1
    #: The offset of the change that moved its leaderships; -1 if no shutdown is under way.
    shutdown_offset: int = -1


class BrokerSessions:
    """See the module. Times are in milliseconds of one clock that does not jump."""

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}

    def __contains__(self, broker_id: object) -> bool:
        return broker_id in self._sessions

    def resume(self, broker: BrokerImage, now_ms: int) -> None:
        """Give a broker a full session, since the controller starts."""
        self._sessions[broker.id] = _Session(broker.epoch, broker.epoch, None if broker.fenced else now_ms)

    def register(self, broker_id: int, epoch: int, offset: int) -> None:
        """Note a registration, whose record is at ``offset``. The session begins with the first heartbeat."""
        former = self._sessions.get(broker_id)
        kept = former.contact_ms if former is not None and former.epoch == epoch else None
        self._sessions[broker_id] = _Session(epoch, offset, kept)

    def forget(self, broker_id: int) -> None:
        """End a session, since the broker is unregistered."""
        self._sessions.pop(broker_id, None)

    def is_valid(self, broker_id: int, now_ms: int) -> bool:
        """Whether a heartbeat of the broker's present epoch came in time."""
        session = self._sessions.get(broker_id)
        return session is not None and session.contact_ms is not None and not self._is_over(session.contact_ms, now_ms)

    def contact(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """Note that a heartbeat has come, before it is decided."""
        session = self._sessions.get(broker_id)
        if session is not None and session.epoch == epoch:
            session.contact_ms = now_ms

    def registered_at(self, broker_id: int) -> int:
        """The offset of the record of the broker's registration."""
        return self._sessions[broker_id].registered_at

    def decide(
        self, broker: BrokerImage, request: BrokerHeartbeatRequest, leads: Callable[[], bool]
    ) -> tuple[ControlState, ControlState]:
        """The present and the next state of a broker by its heartbeat; ``leads`` says whether it leads any partition."""
        session = self._sessions[broker.id]
        if session.shutdown_offset >= 0:
            return ControlState.CONTROLLED_SHUTDOWN, self._while_stopping(session, leads)
        if broker.fenced:
            return ControlState.FENCED, _while_fenced(session, request)
        return ControlState.UNFENCED, _while_unfenced(request, leads)

    def settle(self, broker_id: int, state: ControlState, metadata_offset: int, last_offset: int) -> None:
        """Note a decided heartbeat: what the broker knows, and the last offset of the decision if a shutdown began."""
        session = self._sessions.get(broker_id)
        if session is None:
            return
        session.metadata_offset = metadata_offset
        if state.fenced:
            session.shutdown_offset = -1
        elif state is ControlState.CONTROLLED_SHUTDOWN and session.shutdown_offset < 0:
            session.shutdown_offset = last_offset

    def stale(self, now_ms: int) -> tuple[int, int] | None:
        """Id and epoch of a broker whose session is over; None if there is none. ``end`` it once the broker is fenced."""
        for broker_id, session in self._sessions.items():
            if session.contact_ms is not None and self._is_over(session.contact_ms, now_ms):
                return broker_id, session.epoch
        return None

    def end(self, broker_id: int, epoch: int, now_ms: int) -> None:
        """End the session that ``stale`` named, unless a heartbeat has come since."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch or session.contact_ms is None:
            return
        if self._is_over(session.contact_ms, now_ms):
            session.contact_ms = None
        session.shutdown_offset = -1

    def _is_over(self, contact_ms: int, now_ms: int) -> bool:
        return contact_ms + self._timeout_ms < now_ms

    def _while_stopping(self, session: _Session, leads: Callable[[], bool]) -> ControlState:
        """It ends when it leads nothing and every other broker knows that."""
        if leads():
            return ControlState.CONTROLLED_SHUTDOWN
        others = (each for each in self._sessions.values() if each.contact_ms is not None and each.shutdown_offset < 0)
        lowest = min((each.metadata_offset for each in others), default=session.shutdown_offset)
        return ControlState.SHUTDOWN_NOW if session.shutdown_offset <= lowest else ControlState.CONTROLLED_SHUTDOWN


def _while_fenced(session: _Session, request: BrokerHeartbeatRequest) -> ControlState:
    if request.want_shut_down:
        return ControlState.SHUTDOWN_NOW
    if not request.want_fence and request.current_metadata_offset >= session.registered_at:
        return ControlState.UNFENCED
    return ControlState.FENCED


def _while_unfenced(request: BrokerHeartbeatRequest, leads: Callable[[], bool]) -> ControlState:
    if request.want_fence:
        return ControlState.SHUTDOWN_NOW if request.want_shut_down else ControlState.FENCED
    if request.want_shut_down:
        return ControlState.CONTROLLED_SHUTDOWN if leads() else ControlState.SHUTDOWN_NOW
    return ControlState.UNFENCED
