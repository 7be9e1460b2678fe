"""Kafka's other command-line tools: topics, console producer and consumer, configs, get-offsets, log-dirs, delete-records,
broker-api-versions, features, cluster, and the two perf tools. Administration has a file of its own (``test_administration``).

The transactions tool and those that verify have files of their own, and so has what is said without security.
"""

from __future__ import annotations

import json

import pytest

from compat_tests.harness.awaiting import eventually
from compat_tests.tools.conftest import columns, table

# ---- topics


def test_topics_create_describe_alter_delete(tool, name):
    topic = name()
    made = tool("topics", "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=60000")
    assert f"Created topic {topic}." in made.out
    described = tool("topics", "--describe", "--topic", topic).out
    assert "PartitionCount: 2" in described
    assert "ReplicationFactor: 1" in described
    assert "retention.ms=60000" in described
    assert described.count("Leader: 1") == 2
    tool("topics", "--alter", "--topic", topic, "--partitions", "3")
    assert "PartitionCount: 3" in tool("topics", "--describe", "--topic", topic).out
    assert topic in tool("topics", "--list").lines
    assert topic in tool("topics", "--describe", "--topics-with-overrides").out
    tool("topics", "--delete", "--topic", topic)
    assert topic not in tool("topics", "--list").lines


def test_topics_errors(tool, make_topic):
    topic = make_topic()
    assert "already exists" in tool("topics", "--create", "--topic", topic, status=1).text
    tool("topics", "--create", "--topic", topic, "--if-not-exists")
    assert "does not exist" in tool("topics", "--describe", "--topic", "no-such-topic", status=1).text
    tool("topics", "--delete", "--topic", "no-such-topic", "--if-exists")
    assert "is invalid" in tool("topics", "--create", "--topic", "no spaces", status=1).text
    bad = tool("topics", "--create", "--topic", topic + "x", "--config", "retention.ms=soon", status=1)
    assert "Invalid value soon for configuration retention.ms" in bad.text
    fewer = tool("topics", "--alter", "--topic", topic, "--partitions", "1", status=1)
    assert "Topic already has 1 partition(s)." in fewer.text


def test_topics_with_replication_above_the_brokers(tool, name):
    refused = tool("topics", "--create", "--topic", name(), "--replication-factor", "3", status=1)
    assert "Unable to replicate the partition 3 time(s)" in refused.text


def test_topics_health(tool):
    for question in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tool("topics", "--describe", question).out == ""


# ---- console


def test_console_producer_and_consumer(tool, make_topic):
    topic = make_topic()
    lines = "".join(f"k{i}:v{i}\n" for i in range(20))
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    tool("console-producer", "--topic", topic, *keyed, stdin=lines)
    read = ["--topic", topic, "--from-beginning", "--max-messages", "20", "--timeout-ms", "60000"]
    shown = [
        "print.key=true",
        "print.offset=true",
        "print.partition=true",
        "print.timestamp=true",
        "print.headers=true",
    ]
    formatted = [word for name in shown for word in ("--formatter-property", name)]
    seen = tool("console-consumer", *read, *formatted).lines
    assert len(seen) == 20
    assert [line.split("\t")[-2:] for line in seen] == [[f"k{i}", f"v{i}"] for i in range(20)]
    assert "Offset:7" in seen[7]
    assert "CreateTime:" in seen[7]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_console_producer_compresses(tool, make_topic, codec):
    topic = make_topic()
    tool("console-producer", "--topic", topic, "--compression-codec", codec, stdin="one\ntwo\n")
    read = ["--topic", topic, "--from-beginning", "--max-messages", "2", "--timeout-ms", "60000"]
    assert tool("console-consumer", *read).lines == ["one", "two"]


def test_console_consumer_of_one_partition_from_an_offset(tool, make_topic, fill):
    topic = make_topic(partitions=2)
    fill(topic, 1)
    read = ["--topic", topic, "--partition", "1", "--offset", "7", "--max-messages", "3", "--timeout-ms", "60000"]
    assert tool("console-consumer", *read).lines == ["value 7", "value 8", "value 9"]


def test_console_consumer_reads_the_offsets_topic(tool, make_topic, fill, name):
    topic, group = make_topic(), name("group")
    fill(topic)
    tool("consumer-groups", "--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "4", "--execute")
    formatter = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
    read = ["--topic", "__consumer_offsets", "--from-beginning", "--formatter", formatter, "--timeout-ms", "3000"]

    def commits() -> list[dict]:
        """What the consumer sees before nothing has come for three seconds, which may be before the first."""
        shown = tool("console-consumer", *read).out.replace('}{"key"', '}\n{"key"')  # the formatter ends no line
        records = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
        return [record for record in records if record["key"]["data"].get("group") == group]

    (commit,) = eventually(commits, len)
    assert commit["key"]["data"]["topic"] == topic
    assert commit["value"]["data"]["offset"] == 4


# ---- settings


def test_configs_of_a_topic(tool, make_topic):
    topic = make_topic()
    of = ("--entity-type", "topics", "--entity-name", topic)
    tool("configs", "--alter", *of, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]")
    described = tool("configs", "--describe", *of).out
    assert "retention.ms=5000" in described
    assert "cleanup.policy=compact,delete" in described
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=5000" in described
    tool("configs", "--alter", *of, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool("configs", "--describe", *of).out
    assert "segment.bytes=1073741824" in tool("configs", "--describe", "--all", *of).out
    refused = tool("configs", "--alter", *of, "--add-config", "retention.ms=soon", status=1)
    assert "Invalid value soon for configuration retention.ms" in refused.text


def test_configs_of_a_broker(tool):
    of = ("--entity-type", "brokers", "--entity-name", "1")
    assert "log.retention.hours=168" in tool("configs", "--describe", "--all", *of).out
    tool("configs", "--alter", *of, "--add-config", "log.cleaner.threads=2")
    assert "DYNAMIC_BROKER_CONFIG:log.cleaner.threads=2" in tool("configs", "--describe", *of).out
    tool("configs", "--alter", *of, "--delete-config", "log.cleaner.threads")


# ---- offsets, records, folders


def test_get_offsets(tool, make_topic, fill):
    topic = make_topic(partitions=2)
    fill(topic, 0)
    fill(topic, 1)
    fill(topic, 1)
    of = ("--topic", topic)
    assert tool("get-offsets", *of).lines == [f"{topic}:0:10", f"{topic}:1:20"]
    assert tool("get-offsets", *of, "--time", "earliest").lines == [f"{topic}:0:0", f"{topic}:1:0"]
    assert tool("get-offsets", *of, "--time", "max-timestamp").lines == [f"{topic}:0:9", f"{topic}:1:9"]
    assert tool("get-offsets", *of, "--time", "1700000003500", "--partitions", "0").lines == [f"{topic}:0:4"]
    assert tool("get-offsets", "--topic-partitions", f"{topic}:1").lines == [f"{topic}:1:20"]


def test_delete_records(tool, make_topic, fill, tmp_path):
    topic = make_topic()
    fill(topic)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 6}], "version": 1}))
    assert "low_watermark: 6" in tool("delete-records", "--offset-json-file", str(plan)).out
    assert tool("get-offsets", "--topic", topic, "--time", "earliest").lines == [f"{topic}:0:6"]


def test_log_dirs(tool, make_topic, fill):
    topic = make_topic(partitions=2)
    fill(topic, 0)
    out = tool("log-dirs", "--describe", "--topic-list", topic).lines
    (report,) = [json.loads(line) for line in out if line.startswith("{")]
    ((folder,),) = [broker["logDirs"] for broker in report["brokers"]]
    sizes = {partition["partition"]: partition["size"] for partition in folder["partitions"]}
    assert sizes[f"{topic}-0"] > 100
    assert sizes[f"{topic}-1"] == 0


# ---- the broker


def test_broker_api_versions(tool, target):
    out = tool("broker-api-versions").out
    assert target.bootstrap in out
    assert "Produce(0): 0 to 13 [usable: 13]" in out
    assert "Fetch(1): 4 to 18 [usable: 18]" in out


def test_features_and_cluster(kafka_tools, bootstrap, tool):
    assert "Feature: metadata.version" in tool("features", "describe").out
    cluster = kafka_tools("cluster", "cluster-id", "--bootstrap-server", bootstrap)
    assert "Cluster ID: " in cluster.text
    cluster = kafka_tools("cluster", "list-endpoints", "--bootstrap-server", bootstrap)
    assert columns(table(cluster), "ID", "STATE") == [("1", "unfenced")]


def test_transactions_describes_producers(tool, make_topic):
    topic = make_topic()
    tool("console-producer", "--topic", topic, "--producer-property", "enable.idempotence=true", stdin="one\n")
    out = tool("transactions", "describe-producers", "--topic", topic, "--partition", "0").out
    assert len(out.splitlines()) == 2


def test_perf_tools(kafka_tools, make_topic, bootstrap):
    topic = make_topic(partitions=3)
    load = ["--topic", topic, "--num-records", "20000", "--record-size", "100", "--throughput", "-1"]
    produced = kafka_tools("producer-perf", *load, "--command-property", f"bootstrap.servers={bootstrap}")
    assert "20000 records sent" in produced.out, produced.text
    read = ["--bootstrap-server", bootstrap, "--topic", topic, "--num-records", "20000", "--hide-header"]
    consumed = kafka_tools("consumer-perf", *read)
    assert int(consumed.lines[-1].split(", ")[4]) >= 20_000, consumed.text
