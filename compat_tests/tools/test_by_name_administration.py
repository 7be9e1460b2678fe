"""Commands for administration as the image has them: asked the same of the same broker, they print what Kafka's own print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import TARGET
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import KafkaTools, ToolResult
from compat_tests.harness.ours import Pykbroker
from compat_tests.tools.by_name import ours_here

LIMIT_S = 60
Both = Callable[..., tuple[ToolResult, ToolResult]]


@pytest.fixture
def ask(kafka_tools: KafkaTools) -> Both:
    """Kafka's answer, and ours, to the same words."""
    return lambda name, *words: (kafka_tools(name, *words), ours_here(name, *words))


@pytest.fixture
def both(ask: Both, bootstrap: str) -> Both:
    """The same, of the broker under test."""
    return lambda name, *words: ask(name, "--bootstrap-server", bootstrap, *words)


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., str]:
    """A file of JSON with a list of objects."""

    def write(*entries: dict[str, Any], name: str = "partitions") -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps({name: entries, "version": 1}))
        return str(path)

    return write


def at(topic: str, partition: int, **more: Any) -> dict[str, Any]:
    """An entry of such a file."""
    return {"topic": topic, "partition": partition, **more}


def same(answers: tuple[ToolResult, ToolResult], status: int = 0) -> str:
    """What both printed, which is the same but for the order of lines; and why they ended, where they failed."""
    theirs, mine = answers
    assert (mine.status, sorted(mine.lines)) == (theirs.status, sorted(theirs.lines)), (theirs.text, mine.text)
    assert mine.status == status
    if status:
        reason = theirs.err.splitlines()[0]
        assert reason in mine.err
    return mine.out


# ---- records, log directories, leaders


def test_records_are_deleted(both, make_topic, fill, plan):
    topic = make_topic(2)
    fill(topic)
    deleted = plan(at(topic, 0, offset=4), at(topic, 1, offset=-1))
    assert f"partition: {topic}-0\tlow_watermark: 4" in same(both("delete-records", "--offset-json-file", deleted))
    beyond = plan(at(topic, 0, offset=99))
    said = same(both("delete-records", "--offset-json-file", beyond))
    assert "OffsetOutOfRangeException" in said
    twice = plan(at(topic, 0, offset=1), at(topic, 0, offset=2))
    same(both("delete-records", "--offset-json-file", twice), status=1)


def test_what_lies_in_log_directories(both, make_topic, fill):
    topic = make_topic(2)
    fill(topic)
    theirs, mine = both("log-dirs", "--describe", "--topic-list", topic)
    assert mine.lines[:2] == theirs.lines[:2]
    assert in_order(mine) == in_order(theirs)
    (place,) = in_order(mine)["brokers"][0]["logDirs"]
    assert [each["partition"] for each in place["partitions"]] == [f"{topic}-0", f"{topic}-1"]
    same(both("log-dirs", "--describe", "--broker-list", "1,7"), status=1)


def in_order(answer: ToolResult) -> dict[str, Any]:
    """The JSON at the end, with partitions in their order."""
    found = json.loads(answer.lines[-1])
    for broker in found["brokers"]:
        for place in broker["logDirs"]:
            place["partitions"].sort(key=lambda each: each["partition"])
    return found


def test_elections(both, make_topic, plan):
    topic = make_topic(2)
    preferred = ("leader-election", "--election-type", "preferred")
    assert "Valid replica already elected" in same(both(*preferred, "--topic", topic, "--partition", "0"))
    same(both(*preferred, "--path-to-json-file", plan(at(topic, 1))))
    same(both(*preferred, "--all-topic-partitions"))
    said = same(both(*preferred, "--topic", f"{topic}-none", "--partition", "0"), status=1)
    assert "UnknownTopicOrPartitionException: No such topic as" in said
    same(both(*preferred, "--topic", topic), status=1)
    same(both(*preferred, "--topic", topic, "--all-topic-partitions"), status=1)


# ---- the quorum and the features


def test_the_quorum(both):
    theirs, mine = both("metadata-quorum", "describe", "--status")
    assert untimed(mine) == untimed(theirs)
    assert mine.out.startswith("ClusterId:              ")
    theirs, mine = both("metadata-quorum", "describe", "--replication")
    assert untimed(mine) == untimed(theirs)
    theirs, mine = both("metadata-quorum", "describe", "--replication", "--human-readable")
    assert re.sub(r"\d+ ms", "N ms", untimed(mine)) == re.sub(r"\d+ ms", "N ms", untimed(theirs))
    same(both("metadata-quorum", "describe"), status=1)
    same(both("metadata-quorum", "describe", "--status", "--human-readable"), status=1)


def untimed(answer: ToolResult) -> str:
    """Without offsets and timestamps, which move on with the log, and without the widths of columns."""
    assert answer.status == 0, answer.text
    text = re.sub(r"(HighWatermark: +)\d+", r"\1N", answer.out)
    text = re.sub(r"\b\d{13}\b", "T", text)
    return re.sub(r" *\t", "\t", re.sub(r"(?m)^(\d+ *\t\S+ *\t)\d+", r"\1N", text))


def test_features(both):
    assert "4.4-IV2" in same(both("features", "describe"))
    assert "was upgraded" in same(both("features", "upgrade", "--feature", "group.version=1"))
    assert "can be downgraded" in same(both("features", "downgrade", "--feature", "group.version=0", "--dry-run"))
    assert "can be disabled" in same(both("features", "disable", "--feature", "group.version", "--dry-run"))
    same(both("features", "upgrade", "--metadata", "4.3-IV0"), status=1)
    assert "only supports versions" in same(both("features", "upgrade", "--feature", "group.version=9"), status=1)
    same(both("features", "downgrade", "--feature", "metadata.version=21"), status=1)
    same(both("features", "upgrade", "--release-version", "9.9"), status=1)
    same(both("features", "upgrade"), status=1)


def test_what_releases_have(both):
    for release in ("3.3-IV3", "3.9", "4.0", "4.0-IV1", "4.1", "4.2", "4.3", "4.4"):
        assert "metadata.version=" in same(both("features", "version-mapping", "--release-version", release))
    for feature in (
        "metadata.version=23",
        "eligible.leader.replicas.version=1",
        "group.version=1",
        "streams.version=0",
    ):
        same(both("features", "feature-dependencies", "--feature", feature))
    for feature in ("metadata.version=99", "group.version=7", "nothing=1", "nothing"):
        assert both("features", "feature-dependencies", "--feature", feature)[1].status == 1


# ---- quotas and passwords


def test_quotas(both, bootstrap, name):
    user, one = name("user"), name("client")
    of_both = ["--entity-type", "users", "--entity-name", user, "--entity-type", "clients", "--entity-default"]
    large = "producer_byte_rate=10485760,request_percentage=12.5"
    for entity in (["--user", user], ["--entity-type", "clients", "--entity-name", one], of_both):
        assert "Completed updating config for" in same(both("configs", "--alter", *entity, "--add-config", large))
        assert "producer_byte_rate=1.048576E7" in same(both("configs", "--describe", *entity))
        both("configs", "--describe", *entity)
        removed = ("--bootstrap-server", bootstrap, "--alter", *entity, "--delete-config", "producer_byte_rate")
        assert ours_here("configs", *removed).status == 0
        assert "12.5" in same(both("configs", "--describe", *entity))
        both("configs", "--alter", *entity, "--delete-config", "request_percentage")
    everybody = both("configs", "--describe", "--entity-type", "users")
    assert same(everybody).count(user) == 0
    address = ["--entity-type", "ips", "--entity-name", "10.9.8.7"]
    same(both("configs", "--alter", *address, "--add-config", "connection_creation_rate=5"))
    assert "ip '10.9.8.7'" in same(both("configs", "--describe", *address))
    ours_here(
        "configs", "--bootstrap-server", bootstrap, "--alter", *address, "--delete-config", "connection_creation_rate"
    )
    gone = both("configs", "--alter", "--user", user, "--delete-config", "producer_byte_rate")
    assert [answer.status for answer in gone] == [1, 1]
    assert all("Invalid config(s): producer_byte_rate" in answer.err for answer in gone)
    negative = both("configs", "--alter", "--user", user, "--add-config", "producer_byte_rate=-1")
    assert all("must be greater than 0" in answer.err for answer in negative)


def test_passwords_are_described(both, bootstrap, name):
    user = name("user")
    password = ("--add-config", "SCRAM-SHA-256=[iterations=8192,password=secret]")
    assert "Completed updating config for user" in same(both("configs", "--alter", "--user", user, *password))
    assert "SCRAM-SHA-256=iterations=8192" in same(both("configs", "--describe", "--user", user))
    mixed = both("configs", "--alter", "--user", user, "--add-config", f"{password[1]},producer_byte_rate=1")
    assert all("Cannot alter both quota and SCRAM" in answer.err for answer in mixed)
    gone = ("--bootstrap-server", bootstrap, "--alter", "--user", user, "--delete-config", "SCRAM-SHA-256")
    assert ours_here("configs", *gone).status == 0


# ---- transactions


@contextmanager
def open_transaction(bootstrap: str, topic: str, transactional_id: str) -> Iterator[Producer]:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(topic, b"value", partition=0)
    assert producer.flush(LIMIT_S) == 0
    yield producer
    producer.purge()


def test_transactions(both, bootstrap, make_topic, name):
    topic, one = make_topic(), name("id")
    partition = ("--topic", topic, "--partition", "0")
    with open_transaction(bootstrap, topic, one):
        assert one in same(both("transactions", "list", "--transactional-id-pattern", one))
        assert one not in same(both("transactions", "list", "--duration-filter", "3600000"))
        theirs, mine = both("transactions", "describe", "--transactional-id", one)
        assert undated(mine) == undated(theirs)
        assert "Ongoing" in mine.out
        assert "\t0  " in same(both("transactions", "describe-producers", *partition))
        same(both("transactions", "describe-producers", *partition, "--broker-id", "1"))
        assert topic not in same(
            both("transactions", "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
        )
        same(both("transactions", "abort", *partition, "--start-offset", "77"), status=1)
        abort = ("transactions", "--bootstrap-server", bootstrap, "abort", *partition, "--start-offset", "0")
        assert ours_here(*abort).status == 0
        assert "None" in same(both("transactions", "describe-producers", *partition))
        end = ("--bootstrap-server", bootstrap, "forceTerminateTransaction", "--transactionalId", one)
        assert ours_here("transactions", *end).status == 0
        described = same(both("transactions", "describe", "--transactional-id", one))
        assert "Ongoing" not in described
    for command in (["find-hanging"], ["abort", *partition], ["abort", *partition, "--producer-id", "1"]):
        same(both("transactions", *command), status=1)
    nobody = both("transactions", "describe", "--transactional-id", name("nobody"))
    assert [answer.status for answer in nobody] == [1, 1]
    assert all("could not be found" in answer.err for answer in nobody)


def undated(answer: ToolResult) -> list[list[str]]:
    """The table without how long it has been so."""
    rows = [line.split("\t") for line in answer.lines]
    return [[*row[:7], *row[8:]] for row in rows]


# ---- replicas


@pytest.fixture
def of_two(ask: Both, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Pykbroker, Both]]:
    if Pykbroker.name != TARGET:
        pytest.skip("the harness starts Apache Kafka as one node")
    process = Pykbroker(tmp_path_factory.mktemp("two"), brokers=2)
    process.start()
    yield process, lambda name, *words: ask(name, "--bootstrap-server", process.bootstrap, *words)
    process.stop()


def test_reassignments(of_two, plan):
    process, both = of_two
    made = ours_here("topics", "--bootstrap-server", process.bootstrap, "--create", "--topic", "t",
                     "--replica-assignment", "1:2,2:1")  # fmt: skip
    assert made.status == 0, made.err
    here = ("reassign-partitions", "--bootstrap-server", process.bootstrap)
    moved = plan(at("t", 0, replicas=[2]), at("t", 1, replicas=[2, 1], log_dirs=["any", str(process.data_dir / "1")]))
    started = ours_here(*here, "--reassignment-json-file", moved, "--execute", "--throttle", "100000")
    assert started.status == 0, started.err
    assert '{"topic":"t","partition":0,"replicas":[1,2]' in started.out
    throttled = ours_here("configs", "--bootstrap-server", process.bootstrap, "--describe", "--topic", "t")
    assert "leader.replication.throttled.replicas=0:1,0:2,1:1,1:2" in throttled.out
    again = both("reassign-partitions", "--reassignment-json-file", moved, "--execute")
    assert "Successfully started moving log directory to" in same(again)
    verify = ("reassign-partitions", "--reassignment-json-file", moved, "--verify", "--preserve-throttles")
    eventually(lambda: both(*verify)[0].out, lambda seen: seen.count("is completed.") == 2)
    seen = same(both(*verify[:-1]))
    assert seen.count("is completed.") == 2
    assert "Clearing topic-level throttles on topic t" in seen
    throttled = ours_here("configs", "--bootstrap-server", process.bootstrap, "--describe", "--topic", "t")
    assert "throttled" not in throttled.out
    assert same(both("reassign-partitions", "--list")) == "No partition reassignments found.\n"
    elsewhere = plan(at("t", 0, replicas=[1], log_dirs=["/nowhere"]))
    seen = same(both("reassign-partitions", "--reassignment-json-file", elsewhere, "--verify", "--preserve-throttles"))
    assert "replica set is 2 rather than 1" in seen
    theirs, mine = both("reassign-partitions", "--reassignment-json-file", moved, "--cancel")
    assert mine.out == theirs.out.replace("are active.Clearing", "are active.\nClearing")


def test_reassignments_that_are_proposed_and_refused(of_two, plan):
    process, both = of_two
    ours_here("topics", "--bootstrap-server", process.bootstrap, "--create", "--topic", "t", "--partitions", "2")
    topics = plan({"topic": "t"}, name="topics")
    found = both("reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2")
    theirs, mine = (answer.lines for answer in found)
    assert [mine[at] for at in (0, 1, 2, 3)] == [theirs[at] for at in (0, 1, 2, 3)]
    assert sorted(re.findall(r'"replicas":(\S+?),"log', mine[4])) == ["[1]", "[2]"]
    for entries in (
        [at("t", 0, replicas=[9])],
        [at("t", 5, replicas=[1])],
        [at("u", 0, replicas=[1])],
        [at("t", 0, replicas=[1, 1])],
        [at("t", 0, replicas=[])],
        [],
        [at("t", 0, replicas=[1], log_dirs=["/a", "/b"])],
    ):
        theirs, mine = both("reassign-partitions", "--reassignment-json-file", plan(*entries), "--execute")
        assert (theirs.status, mine.status) == (1, 1)
        reason = theirs.out.splitlines()[0].removeprefix("Error: ")
        assert reason.rpartition("Exception: ")[2] in mine.err
