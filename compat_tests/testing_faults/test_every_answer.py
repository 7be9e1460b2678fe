"""Nothing outside of the catalogue ever happens: each answer that restless clients get under chaos, in worlds, is one that Apache Kafka may give
in the state in which it was asked.

``PYKBROKER_LONG=1`` lives 200 seeds of each kind, and asks Apache Kafka for each answer that is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from compat_tests.conftest import LONG, takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.cases import all_cases
from compat_tests.oracle.connection import Connection
from compat_tests.oracle.requests import Ask
from compat_tests.testing_faults import restless
from compat_tests.testing_faults.allowed import READ_IN_CODE, RULES, SEEN_BY_TESTS, answers
from compat_tests.testing_faults.sides import Apache, Ours, Side
from compat_tests.testing_faults.test_catalogue import code, producing
from compat_tests.testing_faults.witness import Witness
from pykbroker.faults import chaos as chaos_module
from pykbroker.faults.chaos_catalogue import CATALOGUE, Disturbance
from pykbroker.faults.fault import Fault
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.worlds import World, WorldKafka
from pykbroker.worlds.life import live
from scripts.jars import ROOT

SETTINGS = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.num.partitions": 2,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 3000,
    "group.initial.rebalance.delay.ms": 100,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "log.retention.ms": 4000,
    "log.roll.ms": 1500,
}
KINDS = {"everything": "intensity=4", "operators": "profile=operators intensity=4"}
#: What lets leaders be elected uncleanly while restless clients live.
LOSING = {"min.insync.replicas": 1, "replica.lag.time.max.ms": 1500, "unclean.leader.election.enable": True}
SEEDS = range(1, 201 if LONG else 3)
SECONDS = 20


def witnessed(seed: int, chaos: str) -> tuple[Witness, set[str]]:
    """What was seen in a life by a seed, and the kinds that befell."""
    witness = Witness()
    settings = {**SETTINGS, **(LOSING if "operators" in chaos else {})}

    async def test(world: World) -> None:
        def watch(kafka: WorldKafka) -> None:
            kafka.watch = witness.watch

        world.watch = watch
        await world.kafka(
            brokers=restless.BROKERS, settings=settings, topics={restless.TOPIC: restless.PARTITIONS}, chaos=chaos
        )
        restless.begin(world)
        await world.sleep(SECONDS)

    outcome = live(test, seed)
    if outcome.error is not None:
        raise outcome.error
    return witness, {each.name for each in CATALOGUE for name, _ in outcome.taken if f": {each.name}: " in name}


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_allowed_in_its_state(kind: str) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    befell: set[str] = set()
    for seed in SEEDS:
        witness, kinds = witnessed(seed, KINDS[kind])
        assert witness.found == [], f"seed {seed}"
        seen += witness.seen
        befell |= kinds
    assert sum(seen.values()) > 500 * len(SEEDS)
    assert len(seen) > (40 if kind == "everything" else 25), sorted(seen)
    assert ("clock step" if kind == "everything" else "unclean election") in befell
    if LONG:
        assert befell == {each.name for each in CATALOGUE if each.is_in(kind)}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("Produce", error="NOT_LEADER_OR_FOLLOWER"),
        Fault("Heartbeat", error="UNKNOWN_MEMBER_ID"),
        Fault("Metadata", leader=3),
        Fault("Fetch", corrupt=True),
    ],
    ids=str,
)
def test_what_is_not_legal_is_seen(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue with a kind that makes an answer up."""
    made_up = Disturbance("made up", (), 0.2, "", "", "", lambda _: fault, frozenset({ApiKey[fault.api.upper()]}))
    monkeypatch.setattr(chaos_module, "CATALOGUE", (*CATALOGUE, made_up))
    assert witnessed(1, "intensity=4")[0].found


def test_what_lies_in_the_cluster_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that refuses what it leads, behind all that chaos does."""
    from pykbroker.partitions.partition import Partition
    from pykbroker.wire.errors import ErrorCode, KafkaError

    real = Partition.check_served_by

    def refused(self: Partition, node_id: int, epoch: int, *, leader_only: bool = True) -> None:
        real(self, node_id, epoch, leader_only=leader_only)
        if self.index == 1:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    monkeypatch.setattr(Partition, "check_served_by", refused)
    assert any(
        "Fetch NOT_LEADER_OR_FOLLOWER: not in this state" in each for each in witnessed(1, "intensity=4")[0].found
    )


# ---- what Apache Kafka answers


class _Noting(Connection):
    """A connection that notes the answers with their errors."""

    seen: set[tuple[str, str]]

    def ask(self, request: Any, version: int) -> Any:
        answer = super().ask(request, version)
        self.note(request, answer)
        return answer

    def note(self, request: Any, answer: Any) -> None:
        """Note what was answered."""
        self.seen |= {(APIS[request.API_KEY].name, each.error) for each in answers(request, answer)}


class _NotingAsk(Ask):
    def __init__(self, address: str, version: int, prefix: str, seen: set[tuple[str, str]]) -> None:
        self._seen = seen
        super().__init__(address, version, prefix)

    def __call__(self, request: Any, version: int | None = None) -> Any:
        answer = super().__call__(request, version)
        if answer is not None:
            self._seen |= {(APIS[request.API_KEY].name, each.error) for each in answers(request, answer)}
        return answer

    def connect(self) -> Connection:
        connection = _Noting(self._address)
        connection.seen = self._seen
        self._connections.append(connection)
        return connection


@takes_long
def test_apache_kafka_was_seen_to_give_each_answer(kafka: ApacheKafka) -> None:
    """By the oracle's questions, in three versions of each API: some answer otherwise in the first and the last."""
    seen: set[tuple[str, str]] = set()
    named = {api for api, _ in RULES}
    ask = Ask(kafka.bootstrap, 0, "waiting")
    ask.wait_for_coordinators()
    ask.close()
    for case in all_cases():
        if APIS[case.api].name in named:
            for version in {case.versions[0], case.versions[-1], *range(3, 4)} & {*case.versions}:
                ask = _NotingAsk(kafka.bootstrap, version, f"{case.name.replace('/', '.')}-every-{version}", seen)
                try:
                    case.ask(ask)
                finally:
                    ask.close()
    known = SEEN_BY_TESTS | READ_IN_CODE
    unseen = {each for each in RULES.keys() - seen if each not in known and ("*", each[1]) not in known}
    if unseen:
        pytest.fail("\n".join(f"{api} {error}" for api, error in sorted(unseen)), pytrace=False)


def test_where_answers_were_seen_is_there() -> None:
    for test in SEEN_BY_TESTS.values():
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text()


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ours, Apache]]:
    with closing(Ours()) as ours, closing(Apache(tmp_path_factory.mktemp("waiting"))) as apache:
        yield ours, apache


def waits_in_vain(side: Side, topic: str) -> Any:
    """A record that the follower does not get before the request's time is over."""
    request = producing(topic)
    request.timeout_ms = 100
    return code(side.connect(1).ask(request, 9))


def loses_its_topic(side: Side, topic: str) -> Any:
    """A record whose topic is deleted while it waits for the follower."""
    connection = side.connect(1)
    sent = connection.send(producing(topic), 9)
    deleted = side.once(DeleteTopicsRequest([DeleteTopicState(topic)], timeout_ms=10_000), 6)
    assert not deleted.responses[0].error_code
    return code(connection.receive(ApiKey.PRODUCE, 9, sent))


@pytest.mark.parametrize(
    ("waits", "expected"),
    [(waits_in_vain, ("REQUEST_TIMED_OUT", 1)), (loses_its_topic, ("UNKNOWN_TOPIC_OR_PARTITION", 1))],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_waits_for_a_follower_that_is_cut_off(sides: tuple[Ours, Apache], waits: Any, expected: Any) -> None:
    """Its offset is answered in both, as by Apache Kafka."""
    for side in sides:
        side.topic(waits.__name__, 1, 2)
        assert code(side.connect(1).ask(producing(waits.__name__), 9)) == ("NONE", 0)
        with side.cut_off("brokers cut off"):  # type: ignore[attr-defined]  # both have it
            assert waits(side, waits.__name__) == expected
        side.disconnect()
