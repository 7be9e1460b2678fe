"""The commands that print files and that measure, as the image has them, beside Kafka's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.tools.by_name import ours_here
from pykbroker.storage.checkpoints import read_meta_properties
from pykbroker.storage.real_disk import RealDisk

LIMIT_S = 60
_OPTIONS: dict[str, list[list[str]]] = {
    ".log": [[], ["--print-data-log"], ["--deep-iteration", "--skip-record-metadata"], ["--max-bytes", "500"]],
    ".index": [[], ["--index-sanity-check"], ["--verify-index-only"]],
    ".timeindex": [[], ["--index-sanity-check"]],
    ".snapshot": [[]],
    ".txnindex": [[]],
}
_INTERNAL = ("offsets.topic.num.partitions", "transaction.state.log.num.partitions")


@pytest.fixture
def folder(start_target: Callable[..., object]) -> Path:
    """The log directory of a stopped broker with batches, headers, a tombstone, transactions that ended one way and the other, and
    groups of both protocols.
    """
    broker = start_target({"log.index.interval.bytes": "100", **dict.fromkeys(_INTERNAL, "1")})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x", "compression.type": "lz4"})  # type: ignore[attr-defined]
    producer.init_transactions(LIMIT_S)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(3):
            key = b"key" if number else None
            producer.produce("t", b"%d" % number, key, partition=0, headers={"h": b"1", "none": None})
        assert producer.flush(LIMIT_S) == 0
        end(LIMIT_S)
    del producer, end
    plain = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})  # type: ignore[attr-defined]
    for number in range(20):
        plain.produce("t", None if number % 7 == 0 else b"value", b"tomb", partition=0)
        assert plain.flush(LIMIT_S) == 0
    for protocol in ("classic", "consumer"):
        _read_in_a_group(broker.bootstrap, protocol)  # type: ignore[attr-defined]
    broker.stop()  # type: ignore[attr-defined]
    return broker.data_dir  # type: ignore[attr-defined, no-any-return]


def _read_in_a_group(bootstrap: str, protocol: str) -> None:
    """A member that commits and leaves, and an offset that is deleted."""
    settings = {"bootstrap.servers": bootstrap, "group.id": protocol, "group.protocol": protocol,
                "auto.offset.reset": "earliest", "enable.auto.commit": False}  # fmt: skip
    consumer = Consumer(settings)
    try:
        consumer.subscribe(["t"])
        while (message := consumer.poll(LIMIT_S)) is None or message.error():
            pass
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    ours_here(
        "consumer-groups", "--bootstrap-server", bootstrap, "--group", protocol, "--delete-offsets", "--topic", "t"
    )


def test_records_of_internal_topics_are_decoded_as_by_kafkas(folder: Path, kafka_tools: KafkaTools) -> None:
    asked = {
        "__cluster_metadata-0": ["--cluster-metadata-decoder"],
        "__consumer_offsets-0": ["--offsets-decoder", "--skip-record-metadata"],
        "__transaction_state-0": ["--transaction-log-decoder"],
        "t-0": ["--value-decoder-class", "org.apache.kafka.tools.api.StringDecoder"],
    }
    for name, words in asked.items():
        (file,) = folder.glob(f"{name}/*.log")
        given = ("dump-log", *words, "--files", str(file))
        theirs, mine = kafka_tools(*given), ours_here(*given)
        assert (mine.status, mine.out.splitlines()) == (0, theirs.out.splitlines()), given
        assert mine.out.count("payload: ") > 5
    assert (
        "<DELETE>"
        in ours_here(
            "dump-log", "--offsets-decoder", "--files", str(file.parent.parent / "__consumer_offsets-0" / file.name)
        ).out
    )


def test_what_cannot_be_decoded_is_said(folder: Path) -> None:
    (file,) = folder.glob("t-0/*.log")
    for words, told in (
        (["--value-decoder-class", "com.example.Avro"], "com.example.Avro is a class of Java"),
        (["--remote-log-metadata-decoder"], "this broker has no tiered storage"),
        (["--offsets-decoder"], "(message had a missing key)"),
    ):
        refused = ours_here("dump-log", *words, "--files", str(file))
        assert refused.status == 1
        assert told in refused.err


def test_files_are_printed_as_by_kafkas(folder: Path, kafka_tools: KafkaTools) -> None:
    files = [file for file in sorted(folder.glob("t-0/*")) if file.suffix in _OPTIONS and file.stat().st_size]
    assert {file.suffix for file in files} == _OPTIONS.keys()
    (metadata,) = folder.glob("__cluster_metadata-0/*.log")
    asked = [(file, words) for file in files for words in _OPTIONS[file.suffix]]
    asked += [(metadata, []), (metadata, ["--deep-iteration"])]
    for file, words in asked:
        given = ("dump-log", *words, "--files", str(file))
        theirs, mine = kafka_tools(*given), ours_here(*given)
        assert (mine.status, mine.out) == (0, theirs.out), given


def test_what_is_measured_is_told_in_kafkas_lines(
    kafka_tools: KafkaTools, bootstrap: str, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    topic, file = make_topic(2), tmp_path / "values"
    file.write_text("one\ntwo\n")
    at = ("--bootstrap-server", bootstrap, "--topic", topic)
    for words in (
        ["--num-records", "300", "--record-size", "100", "--throughput", "-1", "--command-property", "acks=1"],
        ["--num-records", "30", "--payload-monotonic", "--throughput", "1000", "--command-property",
         "compression.type=lz4", "batch.size=50"],
        ["--num-records", "30", "--payload-file", str(file), "--throughput", "-1"],
    ):  # fmt: skip
        theirs, mine = kafka_tools("producer-perf", *at, *words), ours_here("producer-perf-test", *at, *words)
        assert (mine.status, unmeasured(mine.out)) == (0, unmeasured(theirs.out)), mine.err
    for words in (["--num-records", "720"], ["--messages", "720", "--hide-header"]):
        theirs, mine = kafka_tools("consumer-perf", *at, *words), ours_here("consumer-perf-test", *at, *words)
        without = theirs.out.removeprefix("Warning: --messages is deprecated. Use --num-records instead.\n")
        assert (mine.status, unmeasured(mine.out)) == (0, unmeasured(without)), mine.err
        assert ", 720, " in mine.out
    detailed = ours_here("consumer-perf-test", *at, "--num-records", "720", "--show-detailed-stats")
    assert detailed.out.startswith("time, threadId, data.consumed.in.MB, ")


def unmeasured(text: str) -> str:
    """With N for each number but the first of a line."""
    return "\n".join(f"{line[:8]}{re.sub(r'[0-9.:-]*[0-9]', 'N', line[8:])}" for line in text.splitlines())


@pytest.mark.parametrize("cluster_id", ["test-cluster", "x=y", "two\nlines ünï", ""])
def test_both_format_for_any_id_and_read_each_others(cluster_id: str, tmp_path: Path, kafka_tools: KafkaTools) -> None:
    said = "node.id=1\nprocess.roles=broker,controller\ncontroller.listener.names=C\nlisteners=P://localhost:1,C://localhost:2\n"
    said += "listener.security.protocol.map=P:PLAINTEXT,C:PLAINTEXT\ncontroller.quorum.voters=1@localhost:2\n"
    said += "inter.broker.listener.name=P\n"
    files = {}
    for name in ("ours", "theirs"):
        files[name] = tmp_path / f"{name}.properties"
        files[name].write_text(f"{said}log.dirs={tmp_path / name}\n")
    words = ("format", f"--cluster-id={cluster_id}", "-c")
    assert ours_here("storage", *words, str(files["ours"])).status == 0
    formatted = kafka_tools("storage", *words, str(files["theirs"]))
    assert formatted.status == 0, formatted.err
    assert cluster_id_of(tmp_path / "ours") == cluster_id_of(tmp_path / "theirs") == cluster_id
    looked = kafka_tools("storage", "info", "-c", str(files["ours"]))
    assert f"cluster.id={cluster_id}, node.id=1" in looked.out, looked.out + looked.err


def cluster_id_of(folder: Path) -> str:
    return read_meta_properties(RealDisk(), str(folder))["cluster.id"]
