"""A broker whose only log directory fails ends, and the others of its cluster go on: here, and at Apache Kafka."""

from __future__ import annotations

import shutil
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.awaiting import until
from compat_tests.harness.ours import Pykbroker

_LIMIT_S = 60


def _fail(directory: Path) -> None:
    """Put a file in its place: nothing can be made in it any more, by whomever."""
    shutil.rmtree(directory)
    directory.write_text("")


def _create(bootstrap: str, node: int) -> None:
    """A topic on the broker, whose replica it cannot make."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("t", 1, replica_assignment=[[node]])])["t"].result(60)


def _brokers(bootstrap: str) -> set[int]:
    return set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=60).brokers)


def test_apache_kafka(tmp_path: Path) -> None:
    first = ApacheKafka(tmp_path / "1")
    first.start()
    second = ApacheBroker(tmp_path / "2", first, 2)
    try:
        second.start()
        until(lambda: _brokers(first.bootstrap) == {1, 2}, "both are registered", _LIMIT_S)
        _fail(second.data_dir)
        _create(first.bootstrap, 2)
        until(lambda: second.process is not None and second.process.poll() is not None, "the broker ends", _LIMIT_S)
        until(lambda: _brokers(first.bootstrap) == {1}, "it is fenced", _LIMIT_S)
    finally:
        second.kill()
        first.stop()


def test_pykbroker(tmp_path: Path) -> None:
    brokers = Pykbroker(tmp_path, brokers=2)
    brokers.start()
    try:
        _fail(brokers.data_dir / "2")
        _create(brokers.addresses[1], 2)
        producer = Producer({"bootstrap.servers": brokers.addresses[1]})
        producer.produce("t", b"v", partition=0)  # logs are made for their first record
        until(lambda: _brokers(brokers.addresses[1]) == {1}, "it ends", _LIMIT_S)
        producer.purge()
        assert "Broker 2 ends, since all its log directories have failed" in brokers.log_tail()
    finally:
        brokers.stop()
