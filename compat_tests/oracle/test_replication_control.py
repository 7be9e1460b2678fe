"""Our controller beside Apache Kafka's: brokers that are none register, alter ISRs, come and go, and operators elect and reassign.

Every request is asked of both; its answer and the metadata records that it made are the same.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.replicating_controllers import (
    ComparedController,
    KafkasController,
    OurController,
    comparable,
)
from pykbroker.controller.elections import ElectionType
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE

BROKERS = (11, 12, 13, 14)
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
#: The number of random walks, each with brokers of its own, and of requests in each.
WALKS, STEPS = int(os.environ.get("PYKBROKER_REPLICATION_WALKS", "12")), 60
_incarnations = itertools.count(10**6)
_topics = (f"replicated-{number}" for number in itertools.count())


class StrayEligible(Exception):
    """Apache Kafka calls a replica eligible that a reassignment has removed, whose log is deleted; here it is not."""


class Both:
    """Both controllers. ``history`` is what was asked of them."""

    def __init__(self, kafka: KafkasController, brokers: tuple[int, ...] = BROKERS) -> None:
        self.kafka, self.ours = kafka, OurController()
        self.brokers = brokers
        self.history: list[str] = []

    def ask(self, said: str, ask: Callable[[ComparedController], Any]) -> Any:
        """The answer, which is the same, as are the records."""
        self.history.append(said)
        both = []
        for controller in (self.kafka, self.ours):
            answer = ask(controller)
            records = controller.catch_up()
            both.append((answer, comparable(records, controller.image)))
        for topic in self.kafka.image.topics.values():
            for partition in topic.partitions.values():
                if not set(partition.eligible_leader_replicas) <= set(partition.replicas):
                    raise StrayEligible
        story = "\n".join(self.history)
        assert both[1] == both[0], f"\nours:  {both[1]}\nkafka: {both[0]}\nafter:\n{story}"
        return both[0][0]

    def start(self, broker: int, *, clean: bool = True) -> None:
        incarnation = next(_incarnations)
        self.ask(f"register {broker} clean={clean}", lambda each: each.start(broker, incarnation, clean=clean))
        self.ask(f"unfence {broker}", lambda each: each.beat(broker))

    def fence(self, broker: int) -> None:
        self.ask(f"fence {broker}", lambda each: each.beat(broker, want_fence=True))


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """An oracle of these tests' own: it fences no broker because this machine stands still for a while, and places no topic of another test
    on brokers that are none, which it does until their sessions end, also where they are not registered any more.
    """
    yield from _patient(tmp_path_factory.mktemp("patient"))


def _patient(folder: Path) -> Iterator[ApacheKafka]:
    kafka = ApacheKafka(folder, {"broker.session.timeout.ms": "600000"})
    kafka.start()
    try:
        yield kafka
    finally:
        kafka.kill()  # it would wait for the brokers that are none


@pytest.fixture
def both(patient: ApacheKafka) -> Iterator[Both]:
    with closing(KafkasController(patient)) as theirs:
        compared = Both(theirs)
        try:
            for broker in BROKERS:
                compared.start(broker, clean=False)
            yield compared
        finally:
            for broker in BROKERS:
                theirs.unregister(broker)


@pytest.fixture
def topic(both: Both) -> Iterator[str]:
    name = next(_topics)
    both.ask(f"create {name}", lambda each: each.create(name, [11, 12, 13]))
    yield name
    both.kafka.delete(name)


def test_every_refusal_of_an_isr(both: Both, topic: str) -> None:
    cases: list[tuple[list[int], dict[str, int]]] = [
        ([11, 12], {"index": 7}),
        ([11, 12], {"leader_epoch": 1}),
        ([11, 12], {"partition_epoch": 1}),
        ([11, 12], {"leader_epoch": -1, "partition_epoch": 1}),
        ([11, 12], {"leader_epoch": -1}),
        ([11, 12], {"leader": 12}),
        ([11, 12], {"leader": 12, "partition_epoch": -1}),
        ([11, 12], {"leader": 99}),
        ([11, 12], {"partition_epoch": -1}),
        ([11, 14], {}),
        ([11, 11], {}),
        ([12, 13], {}),
        ([], {}),
        ([11], {"recovery": 1}),
        ([11, 12], {"recovery": 1}),
        ([11, 12], {"member_epoch": -1}),
        ([11, 12, 13], {}),
        ([11, 12], {}),
    ]
    for members, given in cases:
        both.ask(f"isr {members} {given}", lambda each, m=members, g=given: each.isr(topic, m, **g))  # type: ignore[misc]
    both.fence(13)
    both.ask("isr with a fenced one", lambda each: each.isr(topic, [11, 12, 13]))


def test_the_last_replica_standing(both: Both, topic: str) -> None:
    both.ask("min isr 2", lambda each: each.configure(TOPIC_RESOURCE, topic, MIN_ISR, "2"))
    for broker in (13, 12, 11):
        both.fence(broker)
    for broker, clean in ((13, True), (12, False), (11, True)):
        both.start(broker, clean=clean)
    both.ask("isr of all", lambda each: each.isr(topic, [11, 12, 13]))


def test_an_unclean_election(both: Both, topic: str) -> None:
    for broker in (13, 12, 11):
        both.fence(broker)
    both.start(13)
    both.ask("elect", lambda each: each.elect(ElectionType.PREFERRED, topic))
    both.ask("elect uncleanly", lambda each: each.elect(ElectionType.UNCLEAN, topic))
    both.ask("recover", lambda each: each.isr(topic, [13], recovery=0))
    both.ask("allow it", lambda each: each.configure(TOPIC_RESOURCE, topic, UNCLEAN, "true"))
    both.fence(13)
    both.start(12)


def test_controlled_shutdowns_and_preferred_leaders(both: Both, topic: str) -> None:
    both.ask("stop 11", lambda each: each.stop(11))
    both.start(11)
    both.ask("elect", lambda each: each.elect(ElectionType.PREFERRED, topic))
    both.ask("isr", lambda each: each.isr(topic, [12, 13, 11]))
    both.ask("elect", lambda each: each.elect(ElectionType.PREFERRED, topic))
    both.ask("elect", lambda each: each.elect(ElectionType.PREFERRED, topic))
    both.ask("elect", lambda each: each.elect(ElectionType.UNCLEAN, topic))


def test_reassignments(both: Both, topic: str) -> None:
    for wanted in ([14, 11], None, None, [14, 12, 13], [14, 13], [11, 12], [13], [99], []):
        both.ask(f"reassign {wanted}", lambda each, w=wanted: each.reassign(topic, w))  # type: ignore[misc]
    both.ask("copied", lambda each: each.isr(topic, sorted(each.partition(topic).replicas)))
    both.ask("reassign", lambda each: each.reassign(topic, [12, 14]))
    both.ask("copied", lambda each: each.isr(topic, sorted(each.partition(topic).replicas)))


@pytest.fixture(scope="module")
def own_controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkasController]:
    """An oracle of the walks' own: a controller of Apache Kafka has been seen to resign when it deleted the topic of a walk."""
    for kafka in _patient(tmp_path_factory.mktemp("walks")):
        with closing(KafkasController(kafka)) as controller:
            yield controller


@takes_long
@pytest.mark.parametrize("seed", range(WALKS))
def test_random_walk(own_controller: KafkasController, seed: int) -> None:
    rng, topic = random.Random(seed), f"walk-{seed}"
    both = Both(own_controller, tuple(range(20 + 4 * seed, 24 + 4 * seed)))
    for broker in both.brokers:
        both.start(broker, clean=False)
    both.ask(f"create {topic}", lambda each: each.create(topic, list(both.brokers[:3])))
    both.ask("min isr 2", lambda each: each.configure(TOPIC_RESOURCE, topic, MIN_ISR, "2"))
    with suppress(StrayEligible):
        for _ in range(STEPS):
            _step(both, topic, rng)
    for broker in both.brokers:
        own_controller.beat(broker, want_fence=True)
    own_controller.delete(topic)
    own_controller.catch_up()


def _step(both: Both, topic: str, rng: random.Random) -> None:
    image = both.kafka.image
    now = both.kafka.partition(topic)
    broker = rng.choice(both.brokers)
    kind = rng.choice(("come and go", "come and go", "isr", "isr", "isr", "reassign", "elect", "configure"))
    if kind == "come and go":
        if not image.brokers[broker].fenced:
            if rng.random() < 0.5:
                both.fence(broker)
            else:
                both.ask(f"stop {broker}", lambda each: each.stop(broker))
        elif rng.random() < 0.5:
            both.start(broker, clean=rng.random() < 0.7)
        else:
            both.ask(f"unfence {broker}", lambda each: each.beat(broker))
    elif kind == "isr" and now.leader != -1:
        members = sorted({now.leader, *(each for each in now.replicas if rng.random() < 0.7)})
        recovery = rng.choice((0, now.leader_recovery_state))
        both.ask(f"isr {members}", lambda each: each.isr(topic, members, recovery=recovery))
    elif kind == "reassign":
        replicas = None if rng.random() < 0.3 else rng.sample(both.brokers, rng.randint(2, 3))
        both.ask(f"reassign {replicas}", lambda each: each.reassign(topic, replicas))
    elif kind == "elect":
        election = rng.choice(list(ElectionType))
        both.ask(f"elect {election.name}", lambda each: each.elect(election, topic))
    elif kind == "configure":
        name, value = rng.choice(
            ((MIN_ISR, "1"), (MIN_ISR, "2"), (MIN_ISR, "3"), (UNCLEAN, "true"), (UNCLEAN, "false"))
        )
        both.ask(f"{name}={value}", lambda each: each.configure(TOPIC_RESOURCE, topic, name, value))


def test_a_min_isr_of_all_brokers(both: Both, topic: str) -> None:
    """It is the cluster's, which other tests share: it is as before afterwards."""
    both.ask("min isr 2", lambda each: each.configure(BROKER_RESOURCE, "", MIN_ISR, "2"))
    try:
        both.fence(13)
        both.fence(12)
        assert both.kafka.partition(topic).eligible_leader_replicas == [12]
    finally:
        both.ask("min isr 1", lambda each: each.configure(BROKER_RESOURCE, "", MIN_ISR, "1"))
