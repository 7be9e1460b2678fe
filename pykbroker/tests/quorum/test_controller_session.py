"""A session with our own controller, which takes brokers of other processes, too."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.controller.controller import Controller
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.features import CORDONED_SINCE, CURRENT, METADATA_VERSION
from pykbroker.metadata.image import Endpoint, MetadataImage
from pykbroker.quorum.controller_session import ControllerSession, RegisteredNode
from pykbroker.quorum.lifecycle import BrokerState
from pykbroker.quorum.observer import Address
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.metadata import created, make_replicating_controller
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

CONFIG = {
    "broker.heartbeat.interval.ms": 2000,
    "broker.session.timeout.ms": 9000,
    "initial.broker.registration.timeout.ms": 60_000,
    "log.dir.failure.timeout.ms": 30_000,
}
ADDRESS = Address("c1", 9093)
NODE = 4
DIRECTORIES = [bytes([NODE, each] * 8) for each in range(2)]


class OurQuorum:
    """A controller as the nodes that a session asks, and as the observer that knows where it is."""

    def __init__(self) -> None:
        self.controller: Controller = make_replicating_controller(1)
        self.runtime = self.controller._runtime
        self.leader: Address | None = ADDRESS
        #: Whether requests are not answered, and those that came.
        self.silent = False
        self.asked: list[Any] = []
        #: What registrations are refused with, and whether the observer has read the metadata.
        self.refusal = ErrorCode.NONE
        self.has_read = True
        #: Whether it forgets each registration at once.
        self.forgets = False
        #: Answers on their way, where they take a while.
        self.under_way: list[tuple[Deferred[Any], Deferred[Any]]] | None = None
        self.subscribers = 0

    # The observer

    @property
    def observer(self) -> OurQuorum:
        return self

    @property
    def offset(self) -> int:
        return self.controller.image.offset

    @property
    def image(self) -> MetadataImage:
        return self.controller.image if self.has_read else MetadataImage()

    def subscribe(self, subscriber: Any) -> Any:
        self.subscribers += 1
        unsubscribe = self.controller.subscribe(subscriber)

        def end() -> None:
            self.subscribers -= 1
            unsubscribe()

        return end

    # The nodes

    def ask(self, address: Address, request: Any, response: Any, limit_ms: float, lowest: int = 0) -> Deferred[Any]:
        assert (address, limit_ms) == (ADDRESS, 4500)
        self.asked.append(request)
        if self.silent:
            return Deferred.failed(KafkaError(ErrorCode.NETWORK_EXCEPTION, "silence"))
        if isinstance(request, BrokerRegistrationRequest):
            if self.refusal:
                return Deferred.completed(response(error_code=self.refusal))
            registered = self.controller.register_broker(request, 4)
            epoch = registered.map(lambda epoch: BrokerRegistrationResponse(broker_epoch=epoch))
            return epoch.recover(KafkaError, lambda error: response(error_code=error.code))
        assert isinstance(request, BrokerHeartbeatRequest)
        answer = self.controller.broker_heartbeat(request).recover(
            KafkaError, lambda error: response(error_code=error.code)
        )
        if self.forgets:
            answer = Deferred.completed(response(error_code=ErrorCode.STALE_BROKER_EPOCH))
        if self.under_way is None:
            return answer
        arrives: Deferred[Any] = Deferred()
        self.under_way.append((answer, arrives))
        return arrives

    def arrive(self) -> None:
        """Let the answers under way arrive."""
        assert self.under_way is not None
        under_way, self.under_way = self.under_way, []
        for answer, arrives in under_way:
            answer.pass_to(arrives)

    def pass_ms(self, ms: int) -> None:
        """Let time go by, in steps."""
        for _ in range(ms // 50):
            self.runtime.clock.advance(50)  # type: ignore[attr-defined]
            self.runtime.timers.run_due()
            while self.runtime.wake_queue:
                self.runtime.wake_queue.run()


@pytest.fixture
def quorum() -> OurQuorum:
    return OurQuorum()


def session(quorum: OurQuorum, incarnation: int = 1, previous_epoch: int = -1) -> ControllerSession:
    node = RegisteredNode(
        NODE,
        quorum.controller.image.cluster_id,
        bytes([incarnation] * 16),
        [Endpoint("PLAINTEXT", "b4", 9092)],
        DIRECTORIES,
        CURRENT,
        "rack",
        previous_epoch,
    )
    states: list[BrokerState] = []
    started = ControllerSession(node, quorum, quorum, quorum.runtime, CONFIG, states.append)  # type: ignore[arg-type]
    started.start()
    quorum.pass_ms(50)
    return started


def test_a_broker_is_registered_and_unfenced_when_it_is_ready(quorum: OurQuorum) -> None:
    broker = session(quorum)
    quorum.pass_ms(500)
    image = quorum.controller.image
    assert broker.lifecycle.state is BrokerState.RECOVERY
    assert (image.brokers[NODE].fenced, image.brokers[NODE].rack) == (True, "rack")
    broker.ready()
    quorum.pass_ms(100)
    assert broker.lifecycle.state is BrokerState.RUNNING
    assert not image.brokers[NODE].fenced
    before = len(quorum.asked)
    quorum.pass_ms(6000)
    assert len(quorum.asked) == before + 3


def test_without_an_answer_it_asks_more_and_more_seldom(quorum: OurQuorum) -> None:
    quorum.silent = True
    broker = session(quorum)
    quorum.pass_ms(10_000)
    assert 10 <= len(quorum.asked) <= 14
    quorum.leader = None
    quorum.pass_ms(60_000)
    assert broker.lifecycle.state is BrokerState.SHUTTING_DOWN
    assert broker.lifecycle.reason.startswith("no controller that leads is reached: check that they run")
    count = len(quorum.asked)
    quorum.silent, quorum.leader = False, ADDRESS
    quorum.pass_ms(10_000)
    assert len(quorum.asked) == count


def test_another_incarnation_waits_for_the_end_of_the_session(quorum: OurQuorum) -> None:
    first = session(quorum)
    first.ready()
    quorum.pass_ms(1000)
    first.end()
    first.end()
    second = session(quorum, 2)
    second.ready()
    assert not second.lifecycle.is_registered
    quorum.pass_ms(12_000)
    assert second.lifecycle.state is BrokerState.RUNNING
    assert second.lifecycle.epoch > first.lifecycle.epoch


def test_a_broker_that_was_unregistered_registers_again(quorum: OurQuorum) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.pass_ms(1000)
    epoch = broker.lifecycle.epoch
    assert quorum.controller.unregister_broker(NODE).done
    quorum.pass_ms(4000)
    assert broker.lifecycle.state is BrokerState.RUNNING
    assert broker.lifecycle.epoch > epoch


def test_who_is_refused_for_a_level_asks_again_until_the_metadata_say_which(quorum: OurQuorum) -> None:
    quorum.refusal, quorum.has_read = ErrorCode.UNSUPPORTED_VERSION, False
    broker = session(quorum)
    quorum.pass_ms(1000)
    assert broker.lifecycle.state is BrokerState.STARTING
    assert len(quorum.asked) > 1
    quorum.has_read = True
    quorum.pass_ms(1000)
    assert broker.lifecycle.state is BrokerState.SHUTTING_DOWN
    assert broker.lifecycle.reason.startswith("the cluster has finalized a feature, or a level of one,")


def test_a_leader_that_is_found_is_asked_at_once(quorum: OurQuorum) -> None:
    quorum.leader = None
    broker = session(quorum)
    assert not quorum.asked
    quorum.leader = ADDRESS
    broker.hasten()
    assert isinstance(quorum.asked[0], BrokerRegistrationRequest)


def test_what_changes_during_a_request_is_said_after_its_answer_at_once(quorum: OurQuorum) -> None:
    """The logs are recovered while a heartbeat is on its way: the next one wants to be unfenced."""
    broker = session(quorum)
    quorum.under_way = []
    quorum.pass_ms(200)
    (before,) = quorum.asked[-1:]
    broker.ready()
    assert quorum.asked[-1] is before
    quorum.arrive()
    assert quorum.asked[-1] is not before
    assert not quorum.asked[-1].want_fence
    quorum.arrive()
    assert broker.lifecycle.state is BrokerState.RUNNING
    asked = len(quorum.asked)
    quorum.pass_ms(1950)
    assert len(quorum.asked) == asked


def test_heartbeats_name_log_directories(quorum: OurQuorum) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.pass_ms(1000)
    brokers = quorum.controller.image.brokers
    broker.cordon(DIRECTORIES)
    quorum.pass_ms(50)
    assert set(brokers[NODE].cordoned_log_dirs or ()) == set(DIRECTORIES)
    broker.cordon([])
    broker.fail_directories(DIRECTORIES[:1])
    quorum.pass_ms(50)
    assert (brokers[NODE].cordoned_log_dirs, brokers[NODE].log_dirs) == ([], DIRECTORIES[1:])
    quorum.pass_ms(3000)
    assert quorum.asked[-1].offline_log_dirs == DIRECTORIES[:1]


@pytest.mark.parametrize("silent_ms", [25_000, 35_000])
def test_a_failed_directory_that_nobody_hears_of_ends_the_broker(quorum: OurQuorum, silent_ms: int) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.pass_ms(1000)
    quorum.silent = True
    broker.fail_directories(DIRECTORIES[:1])
    quorum.pass_ms(silent_ms)
    quorum.silent = False
    quorum.pass_ms(10_000)
    ended = silent_ms > 30_000
    assert (broker.lifecycle.state is BrokerState.SHUTTING_DOWN) == ended
    assert ("log.dir.failure.timeout.ms" in broker.lifecycle.reason) == ended


def test_an_older_metadata_version_has_no_cordoned_directories(quorum: OurQuorum) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.controller.image.features[METADATA_VERSION] = CORDONED_SINCE - 1
    broker.cordon(DIRECTORIES)
    quorum.pass_ms(1000)
    assert quorum.asked[-1].cordoned_log_dirs is None


def test_a_broker_that_gives_up_asks_no_more(quorum: OurQuorum) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.pass_ms(1000)
    broker.give_up("no disk is left")
    count = len(quorum.asked)
    quorum.pass_ms(5000)
    assert (broker.lifecycle.state, broker.lifecycle.reason) == (BrokerState.SHUTTING_DOWN, "no disk is left")
    assert len(quorum.asked) == count


def test_a_controlled_shutdown(quorum: OurQuorum) -> None:
    broker = session(quorum)
    broker.ready()
    quorum.pass_ms(1000)
    (result,) = created(quorum.controller, NewTopic("t", assignments=[(0, [NODE, 1])]))
    assert result.error is None
    broker.begin_shutdown()
    quorum.pass_ms(2000)
    assert broker.lifecycle.state is BrokerState.SHUTTING_DOWN
    assert not broker.lifecycle.reason
    assert not quorum.subscribers
    image = quorum.controller.image
    assert image.brokers[NODE].fenced
    partition = image.partition("t", 0)
    assert partition is not None
    assert partition.leader == 1


def test_controllers_that_forget_each_registration_are_asked_with_pauses(quorum: OurQuorum) -> None:
    """Though the metadata show each of them while a heartbeat is under way."""
    quorum.forgets, quorum.under_way = True, []
    broker = session(quorum)
    for _ in range(100):
        if quorum.under_way:
            broker.hasten()
            quorum.arrive()
        quorum.pass_ms(50)
    assert 10 < len(quorum.asked) <= 2 * (1 + 5000 // 100)
    quorum.forgets = False
    quorum.arrive()
    quorum.under_way = None
    broker.ready()
    quorum.pass_ms(1000)
    assert broker.lifecycle.state is BrokerState.RUNNING
