"""A broker's registration with its controllers, and its state: what it asks next, and when.

One request is under way. The state goes from STARTING, until the broker knows the metadata up to its own registration, by RECOVERY, until
it is unfenced, to RUNNING; a stop goes on until the controller has moved its leaderships. A registration that the controllers no longer know is made
again by the same incarnation. Rules: BrokerLifecycleManager of Kafka 4.4.0, which also goes on asking where this machine ends with a sentence.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pykbroker.quorum.observer import ANOTHER_CLUSTER
from pykbroker.wire.errors import ErrorCode, error_code


class BrokerState(Enum):
    """As Kafka's metric BrokerState counts them."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class NextAsk(Enum):
    """When the next request is sent."""

    AT_ONCE = "at once"
    #: After a pause, which grows with each failure.
    BACK_OFF = "after a pause"
    #: After ``broker.heartbeat.interval.ms``.
    INTERVAL = "after the interval"
    #: Never: the broker may end, or has to, since ``RegistrationLifecycle.reason``.
    NEVER = "never"


class HeartbeatAnswer(NamedTuple):
    """What an answer to a heartbeat says."""

    error: int
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


UNSUPPORTED_LEVEL = (
    "the cluster has finalized a feature, or a level of one, that this broker does not support: run a version that does, or lower the level with "
    "kafka-features"
)
#: Registrations that no repetition makes better.
_FINAL = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: ANOTHER_CLUSTER,
    ErrorCode.UNSUPPORTED_VERSION: UNSUPPORTED_LEVEL,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the controllers permit this broker no ClusterAction on the cluster: make its principal one of their "
    "super.users, or allow it that",
    ErrorCode.INVALID_REGISTRATION: "the controllers refuse its listeners or log directories: their log says which",
}
#: A registration that is not known.
_UNKNOWN = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class RegistrationLifecycle:
    """See the module. ``ready`` says that the logs are recovered; ``deadline_ms`` is when a first registration is given up."""

    def __init__(self, node_id: int, deadline_ms: float) -> None:
        self._node_id = node_id
        self._deadline_ms = deadline_ms
        self.state = BrokerState.STARTING
        #: The broker epoch; -1 while it is not registered.
        self.epoch = -1
        #: Whether it wants to be unfenced.
        self.ready = False
        #: Why it has to end; empty where it may.
        self.reason = ""
        self._was_registered = False
        #: Whether a heartbeat was taken since the last registration.
        self._was_known = False
        self._give_up_ms = 0.0

    @property
    def is_registered(self) -> bool:
        return self.epoch >= 0

    @property
    def wants_shutdown(self) -> bool:
        return self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN

    def begin_shutdown(self, give_up_ms: float) -> NextAsk:
        """Begin a controlled shutdown, which ends without the controllers if they do not answer after ``give_up_ms``, when they have fenced the
        broker; one that was never registered may end at once.
        """
        if not self.is_registered:
            self.state = BrokerState.SHUTTING_DOWN
            return NextAsk.NEVER
        self.state, self._give_up_ms = BrokerState.PENDING_CONTROLLED_SHUTDOWN, give_up_ms
        return NextAsk.AT_ONCE

    def failed(self, why: str, now_ms: float) -> NextAsk:
        """There was no answer."""
        if self.wants_shutdown and now_ms >= self._give_up_ms:
            self.state = BrokerState.SHUTTING_DOWN
            return NextAsk.NEVER
        if self._was_registered or now_ms < self._deadline_ms:
            return NextAsk.BACK_OFF
        return self.give_up(why)

    def registered(self, error: int, epoch: int, now_ms: float) -> NextAsk:
        """The answer to a registration has come."""
        if error == ErrorCode.NONE and epoch >= 0:
            self.epoch, self._was_registered = epoch, True
            return NextAsk.AT_ONCE
        code = error_code(error)
        if code in _FINAL:
            return self.give_up(_FINAL[code])
        if code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return self.failed(
                f"another broker with node.id {self._node_id} is running: give each a node.id of its own, and log directories",
                now_ms,
            )
        return self.failed(code.default_message, now_ms)

    def heartbeat_answered(self, answer: HeartbeatAnswer, now_ms: float) -> NextAsk:
        """The answer to a heartbeat has come."""
        if answer.error in _UNKNOWN:
            return self._begin_again()
        if answer.error:
            return self.failed(error_code(answer.error).default_message, now_ms)
        self._was_known = True
        if self.wants_shutdown:
            if not answer.should_shut_down:
                return NextAsk.BACK_OFF
            self.state = BrokerState.SHUTTING_DOWN
            return NextAsk.NEVER
        before = self.state
        if before is BrokerState.STARTING and answer.is_caught_up:
            self.state = BrokerState.RECOVERY
        if self.state is BrokerState.RECOVERY and not answer.is_fenced:
            self.state = BrokerState.RUNNING
        if self.state is BrokerState.RUNNING and not answer.is_fenced:
            return NextAsk.INTERVAL
        return NextAsk.AT_ONCE if self.state is not before else NextAsk.BACK_OFF

    def _begin_again(self) -> NextAsk:
        self.epoch = -1
        if self.wants_shutdown:
            self.state = BrokerState.SHUTTING_DOWN
            return NextAsk.NEVER
        self.state = BrokerState.STARTING
        was_known, self._was_known = self._was_known, False
        return NextAsk.AT_ONCE if was_known else NextAsk.BACK_OFF

    def give_up(self, why: str) -> NextAsk:
        """It has to end."""
        self.state, self.reason = BrokerState.SHUTTING_DOWN, why
        return NextAsk.NEVER
