"""A broker's session with the controllers: sends what ``lifecycle.py`` decides to the leader that the observer knows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pykbroker.metadata.features import CORDONED_SINCE, METADATA_VERSION
from pykbroker.quorum.lifecycle import (
    UNSUPPORTED_LEVEL,
    BrokerState,
    HeartbeatAnswer,
    NextAsk,
    RegistrationLifecycle,
)
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import ErrorCode, error_code
from pykbroker.wire.messages import broker_registration as registrations
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.features import Features
    from pykbroker.metadata.image import Endpoint, MetadataImage
    from pykbroker.quorum.observing import MetadataObserver, Nodes, QuorumSettings
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.timers import Timer
    from pykbroker.wire.message import Message

log = logging.getLogger(__name__)

R = TypeVar("R", bound="Message")

#: The pause after a failure, which doubles up to the second (BrokerLifecycleManager's resend backoff).
_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 1000
_NOT_REACHED = "no controller that leads is reached: check that they run, and where (controller.quorum.bootstrap.servers or controller.quorum.voters)"
_UNTOLD = "a log directory has failed, and no controller took that for log.dir.failure.timeout.ms: look at the disk and the controllers, and start it again"
#: Directories are named since version 2, which every controller has that writes metadata.version 3.7 or later.
_LOWEST_REGISTRATION = 2
#: Directories that have failed are named since version 1.
_LOWEST_HEARTBEAT = 1


class RegisteredNode(NamedTuple):
    """What a broker registers with. ``incarnation_id`` is random, and another one after each start."""

    node_id: int
    cluster_id: str
    incarnation_id: bytes
    endpoints: Sequence[Endpoint]
    log_dirs: Sequence[bytes]
    features: Features
    rack: str | None = None
    #: The epoch in the marker of its last clean shutdown; -1 if it did not stop cleanly, or synced less than it acknowledged.
    previous_epoch: int = -1


class ControllerSession:
    """``start`` it while the observer follows the log. ``changed`` is called after each change of ``lifecycle.state``. With ``config`` of
    broker settings.
    """

    def __init__(
        self,
        node: RegisteredNode,
        observing: MetadataObserver,
        nodes: Nodes,
        runtime: Runtime,
        config: QuorumSettings,
        changed: Callable[[BrokerState], None],
    ) -> None:
        self._node = node
        self._observing = observing
        self._nodes = nodes
        self._runtime = runtime
        self._interval_ms = config["broker.heartbeat.interval.ms"]
        self._session_ms = config["broker.session.timeout.ms"]
        self._limit_ms = self._session_ms / 2
        self._untold_ms = config["log.dir.failure.timeout.ms"]
        self._changed = changed
        deadline_ms = self._now_ms() + config["initial.broker.registration.timeout.ms"]
        self.lifecycle = RegistrationLifecycle(node.node_id, deadline_ms)
        self._pause_ms = _PAUSE_MS
        #: The pause before the next request; None while one is under way.
        self._pause: Timer | None = None
        self._ended = False
        #: The log directories that have failed, and those that get no new replicas, which heartbeats name.
        self._offline: set[bytes] = set()
        #: Of the failed ones, those that the heartbeat on its way names, and those of which the controllers have heard.
        self._named: set[bytes] = set()
        self._reported: set[bytes] = set()
        self._cordoned: Collection[bytes] = ()
        #: Whether something has changed since the request that is under way was sent.
        self._has_news = False
        self._unsubscribe = observing.subscribe(self._follow)

    def start(self) -> None:
        """Register."""
        self._ask()

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """The broker has caught up when it sees its own registration."""
        del delta
        broker = image.brokers.get(self._node.node_id)
        if self.lifecycle.state is BrokerState.STARTING and broker is not None and broker.epoch == self.lifecycle.epoch:
            self.hasten()

    def ready(self) -> None:
        """The logs are recovered: be unfenced."""
        self.lifecycle.ready = True
        self.hasten()

    def fail_directories(self, directories: Iterable[bytes]) -> None:
        """Log directories have failed, for as long as the process runs: replicas of others lead what was led there (KIP-858). A broker that
        cannot say so for log.dir.failure.timeout.ms ends.
        """
        new = set(directories) - self._offline
        if new:
            self._offline |= new
            self._runtime.client_timers.after(self._untold_ms, partial(self._check_reported, new))
        self.hasten()

    def _check_reported(self, directories: set[bytes]) -> None:
        if not self._ended and not directories <= self._reported:
            self.give_up(_UNTOLD)

    def cordon(self, directories: Collection[bytes]) -> None:
        """These log directories get no new replicas, and no others (KIP-1066)."""
        self._cordoned = directories
        self.hasten()

    def give_up(self, why: str) -> None:
        """The broker cannot go on."""
        self.lifecycle.give_up(why)
        self.end()
        self._changed(self.lifecycle.state)

    def begin_shutdown(self) -> None:
        """Have the controller move what the broker leads; the state is SHUTTING_DOWN when it may end."""
        following = self.lifecycle.begin_shutdown(self._now_ms() + self._session_ms)
        self._changed(self.lifecycle.state)
        if following is NextAsk.AT_ONCE:
            self.hasten()

    def end(self) -> None:
        """Ask nothing any more, without a word. Harmless when repeated."""
        if not self._ended:
            self._ended = True
            self._unsubscribe()

    def _now_ms(self) -> float:
        return self._runtime.clock.monotonic() * 1000

    def hasten(self) -> None:
        """Do not wait for the end of a pause, and make none after the answer that is under way."""
        if self._pause is None:
            self._has_news = True
        else:
            self._pause.cancel()
            self._ask()

    def _ask(self) -> None:
        self._pause, self._has_news = None, False
        if self._ended:
            return
        if self.lifecycle.is_registered:
            self._send(self._heartbeat(), BrokerHeartbeatResponse, _LOWEST_HEARTBEAT, self._heartbeat_answered)
        else:
            self._send(self._registration(), BrokerRegistrationResponse, _LOWEST_REGISTRATION, self._registered)

    def _send(self, request: Message, response: type[R], lowest: int, then: Callable[[R], NextAsk]) -> None:
        address = self._observing.observer.leader
        if address is None:
            self._go_on(self.lifecycle.failed(_NOT_REACHED, self._now_ms()))
            return

        def answered(done: Deferred[R]) -> None:
            if not self._ended:
                failed = done.error is not None
                now_ms = self._now_ms()
                self._go_on(self.lifecycle.failed(str(done.error), now_ms) if failed else then(done.value))

        sent = attempt(self._nodes.ask, address, request, response, self._limit_ms, lowest)
        sent.fold(answered).or_log("a request to the controller")

    def _registered(self, answer: BrokerRegistrationResponse) -> NextAsk:
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION and not self._observing.image.features:
            # It is asked again when the metadata, which are on their way, can say which level is not supported.
            return self.lifecycle.failed(UNSUPPORTED_LEVEL, self._now_ms())
        following = self.lifecycle.registered(answer.error_code, answer.broker_epoch, self._now_ms())
        if self.lifecycle.is_registered:
            self._pause_ms = _PAUSE_MS
            log.info("Registered with the controllers, broker epoch %d", answer.broker_epoch)
        elif answer.error_code != ErrorCode.NOT_CONTROLLER:
            log.info("The controllers answer the registration with %s", error_code(answer.error_code).name)
        return following

    def _heartbeat_answered(self, answer: BrokerHeartbeatResponse) -> NextAsk:
        before = self.lifecycle.state
        if not answer.error_code:
            self._pause_ms = _PAUSE_MS
            self._reported = self._named
        content = HeartbeatAnswer(answer.error_code, answer.is_caught_up, answer.is_fenced, answer.should_shut_down)
        following = self.lifecycle.heartbeat_answered(content, self._now_ms())
        if not self.lifecycle.is_registered:
            self._has_news = False  # they were of a registration that is not known
        if self.lifecycle.state is not before:
            log.info("The broker's state is %s", self.lifecycle.state.name)
            self._changed(self.lifecycle.state)
        return following

    def _go_on(self, following: NextAsk) -> None:
        if self._ended:
            return
        if self._has_news and following in (NextAsk.INTERVAL, NextAsk.BACK_OFF):
            following = NextAsk.AT_ONCE
        if following is NextAsk.BACK_OFF:
            self._rest(self._pause_ms)
            self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)
        elif following is NextAsk.AT_ONCE:
            self._ask()
        elif following is NextAsk.INTERVAL:
            self._rest(self._interval_ms)
        else:
            self.end()
            self._changed(self.lifecycle.state)

    def _rest(self, ms: float) -> None:
        self._pause = self._runtime.client_timers.after(ms, self._ask)

    def _registration(self) -> BrokerRegistrationRequest:
        node = self._node
        listeners = [
            registrations.Listener(each.listener, each.host, each.port, each.security_protocol)
            for each in node.endpoints
        ]
        features = [registrations.Feature(name, low, high) for name, (low, high) in node.features.ranges.items()]
        return BrokerRegistrationRequest(
            broker_id=node.node_id,
            cluster_id=node.cluster_id,
            incarnation_id=node.incarnation_id,
            listeners=listeners,
            features=features,
            rack=node.rack,
            log_dirs=sorted(node.log_dirs),
            previous_broker_epoch=node.previous_epoch,
        )

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        lifecycle, image = self.lifecycle, self._observing.image
        self._named = set(self._offline)
        knows_cordons = (
            lifecycle.state is not BrokerState.STARTING and image.features.get(METADATA_VERSION, 0) >= CORDONED_SINCE
        )
        return BrokerHeartbeatRequest(
            broker_id=self._node.node_id,
            broker_epoch=lifecycle.epoch,
            current_metadata_offset=self._observing.offset,
            want_fence=not lifecycle.ready,
            want_shut_down=lifecycle.wants_shutdown,
            offline_log_dirs=sorted(self._offline),
            cordoned_log_dirs=sorted(self._cordoned) if knows_cordons else None,
        )
