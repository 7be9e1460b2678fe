"""Tools with which Kafka's own system tests judge brokers: verifiable producer and consumer, the transactional copier, the
client compatibility test, end-to-end latency, replica verification; and what tools say of what pykbroker does not serve.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from compat_tests.harness.kafka_tools import tool_command
from compat_tests.harness.records import LIMIT_S, values, write
from compat_tests.tools.conftest import columns, table


def events(out: str, name: str) -> list[dict]:
    """The JSON lines that a verifiable client wrote of one kind."""
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return [event for event in found if event["name"] == name]


def test_what_the_verifiable_producer_sent_the_verifiable_consumer_gets(tool, make_topic, bootstrap, name):
    topic, group = make_topic(partitions=3), name("group")
    # In a process of its own: it reports what was acknowledged while its process ends.
    command = [*tool_command("verifiable-producer"), "--bootstrap-server", bootstrap]
    command += ["--topic", topic, "--max-messages", "500", "--repeating-keys", "20", "--value-prefix", "7"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=150).stdout
    sent = {(sent["partition"], sent["offset"]): sent["value"] for sent in events(out, "producer_send_success")}
    assert sorted(sent.values(), key=lambda value: int(value[2:])) == [f"7.{number}" for number in range(500)]
    options = ["--topic", topic, "--group-id", group, "--group-protocol", "classic", "--max-messages", "500"]
    out = tool("verifiable-consumer", *options, "--verbose").out
    assert {(got["partition"], got["offset"]): got["value"] for got in events(out, "record_data")} == sent
    assert sum(batch["count"] for batch in events(out, "records_consumed")) == 500
    assert all(commit["success"] for commit in events(out, "offsets_committed"))
    ends = {(each["partition"], each["offset"]) for each in events(out, "offsets_committed")[-1]["offsets"]}
    counts = [sum(1 for partition, _ in sent if partition == wanted) for wanted in range(3)]
    assert ends == set(enumerate(counts))


@pytest.mark.parametrize("mode", ["auto", "sync", "async"])
def test_the_share_consumer_gets_and_acknowledges_what_was_sent(tool, make_topic, fill, name, mode):
    topic, group = make_topic(), name("group")
    fill(topic)
    options = [
        "--topic",
        topic,
        "--group-id",
        group,
        "--offset-reset-strategy",
        "earliest",
        "--acknowledgement-mode",
        mode,
    ]
    out = tool("verifiable-share-consumer", *options, "--max-messages", "10", "--verbose").out
    assert [event["offsetResetStrategy"] for event in events(out, "offset_reset_strategy_set")] == ["earliest"]
    got = [(each["partition"], each["offset"]) for each in events(out, "record_data")]
    assert len(got) == len(set(got)) == 10
    assert sum(batch["count"] for batch in events(out, "records_consumed")) == 10
    acknowledged = events(out, "offsets_acknowledged")
    assert all(each["success"] for each in acknowledged)
    assert sum(each["count"] for each in acknowledged) == 10
    described = tool("share-groups", "--describe", "--group", group)
    assert sum(int(lag) for (lag,) in columns(table(described), "LAG")) == 0


def test_the_transactional_copier_copies_exactly_once_though_it_aborts(kafka_tools, make_topic, bootstrap, name):
    source, copy, group = make_topic(), make_topic(), name("group")
    write(bootstrap, source, map(str, range(1000)))
    options = ["--broker-list", bootstrap, "--input-topic", source, "--input-partition", "0", "--output-topic", copy]
    options += ["--max-messages", "1000", "--transaction-size", "50", "--enable-random-aborts", "--use-group-metadata"]
    done = kafka_tools("transactional-copier", *options, "--consumer-group", group, "--transactional-id", name("id"))
    assert done.status == 0, done.text
    assert values(bootstrap, copy) == [str(number) for number in range(1000)]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    asked = ConsumerGroupTopicPartitions(group)
    (committed,) = admin.list_consumer_group_offsets([asked])[group].result(LIMIT_S).topic_partitions
    assert (committed.topic, committed.offset) == (source, 1000)


def test_the_client_compatibility_test_succeeds(kafka_tools, bootstrap, make_topic):
    features = (
        "offsets-for-times",
        "cluster-id",
        "create-topics",
        "describe-configs",
        "idempotent-producer",
        "describe-acls",
    )
    options = [word for feature in features for word in (f"--{feature}-supported", "True")]
    options += ["--expect-record-too-large-exception", "False", "--num-cluster-nodes", "1"]
    done = kafka_tools("client-compatibility", "--bootstrap-server", bootstrap, "--topic", make_topic(), *options)
    assert (done.status, "SUCCESS." in done.out) == (0, True), done.text


def test_end_to_end_latency(tool, make_topic):
    topic = make_topic()
    done = tool(
        "e2e-latency", "--topic", topic, "--num-records", "100", "--producer-acks", "all", "--record-size", "100"
    )
    assert "Avg latency: " in done.out
    assert tool("get-offsets", "--topic", topic).lines == [f"{topic}:0:100"]


def test_replica_verification_finds_no_lag(bootstrap, make_topic, fill):
    topic = make_topic(partitions=2)
    fill(topic, 0, 1)
    command = [*tool_command("replica-verification"), "--broker-list", bootstrap]
    command += ["--topics-include", topic, "--time", "-2", "--report-interval-ms", "100", "--max-wait-ms", "50"]
    tool = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert tool.stdout is not None
        report = next(line for line in tool.stdout if "max lag" in line)  # it reports until it is ended
    finally:
        tool.kill()
        tool.communicate()
    assert "max lag is 0 for partition" in report
    assert "among 2 partitions" in report


# ---- what is not served, or not without security


def test_there_are_no_streams_groups(tool):
    assert tool("streams-groups", "--list").out.strip() == ""


@pytest.mark.parametrize("what", [["--list"], ["--add", "--allow-principal", "User:a", "--topic", "t"]])
def test_access_lists_need_an_authorizer(kafka_tools, bootstrap, what):
    done = kafka_tools("acls", "--bootstrap-server", bootstrap, *what)
    assert "SecurityDisabledException: No Authorizer is configured on the broker" in done.text
    assert done.status == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--describe"],
        ["--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice"],
        ["--renew", "--renew-time-period", "-1", "--hmac", "c29tZQ=="],
        ["--expire", "--expiry-time-period", "-1", "--hmac", "c29tZQ=="],
    ],
)
def test_delegation_tokens_need_names(kafka_tools, bootstrap, tmp_path: Path, options):
    (tmp_path / "none.properties").touch()
    options = [*options, "--command-config", str(tmp_path / "none.properties")]
    done = kafka_tools("delegation-tokens", "--bootstrap-server", bootstrap, *options)
    assert "Delegation Token requests are not allowed on PLAINTEXT" in done.text
