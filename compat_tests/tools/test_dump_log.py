"""kafka-dump-log on a broker's files: segments, indexes, producer snapshots, the offsets topic and the metadata log.

The broker is started for this module alone, with small segments, and stopped before its files are read.
"""

from __future__ import annotations

import json
import re

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as At
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.dump_log import faults, segment_files

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def folder(start_target):
    """The log directory of a stopped broker, with six segments or so for each codec and a committed offset."""
    broker = start_target({"offsets.topic.num.partitions": "1"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    small = {"segment.bytes": "1048576", "index.interval.bytes": "1000"}
    for created in admin.create_topics([NewTopic(codec, 1, 1, config=small) for codec in _CODECS]).values():
        created.result(60)
    for codec in _CODECS:
        settings = {"compression.codec": codec, "batch.size": 20_000, "enable.idempotence": True, "linger.ms": 1}
        producer = Producer({"bootstrap.servers": broker.bootstrap, **settings})
        for i in range(4000):
            producer.produce(codec, b"%06d" % i * 100, b"key %d" % i, headers={"h": b"v"})
            producer.poll(0)
        assert producer.flush(60) == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "readers"})
    consumer.commit(offsets=[At("gzip", 0, 77, metadata="note")], asynchronous=False)
    consumer.close()
    broker.stop()
    return broker.data_dir


def test_dump_log(folder, kafka_tools):
    assert len([file for file in segment_files(folder) if file.suffix == ".log" and file.parent.name == "none-0"]) >= 2
    assert faults(kafka_tools, folder) == []
    for codec in _CODECS:
        logs = [
            str(file) for file in segment_files(folder) if file.suffix == ".log" and file.parent.name == f"{codec}-0"
        ]
        out = kafka_tools("dump-log", "--print-data-log", "--files", ",".join(logs)).out
        assert [int(found) for found in re.findall(r"payload: (\d{6})", out)] == list(range(4000))
        assert f"compresscodec: {codec}" in out
    offsets = [
        str(file)
        for file in segment_files(folder)
        if file.suffix == ".log" and file.parent.name == "__consumer_offsets-0"
    ]
    out = kafka_tools("dump-log", "--offsets-decoder", "--files", ",".join(offsets)).out
    commits = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", out)]
    assert [value["data"]["offset"] for value in commits if value["data"].get("metadata", "").startswith("note")] == [
        77
    ]
    metadata = [
        str(file)
        for file in segment_files(folder)
        if file.suffix == ".log" and file.parent.name == "__cluster_metadata-0"
    ]
    out = kafka_tools("dump-log", "--cluster-metadata-decoder", "--files", ",".join(metadata)).out
    records = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", out)]
    assert set(_CODECS) <= {record["data"]["name"] for record in records if record["type"] == "TOPIC_RECORD"}
