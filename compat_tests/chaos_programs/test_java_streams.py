"""What ``java-streams`` loses, if it does, is this: Streams passes over what a task has read that it gave up in a rebalance, with Apache Kafka as
with us.

A transaction that fails when partitions are revoked makes the task that stays corrupted: it shall begin anew where the group has committed.
But the assignment that is under way closes the renewed task and makes another, which knows nothing of that. So the consumer goes on where it was.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.java import QUICK, compile_java, java_command
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.records import LIMIT_S, committed, make_topics, write

EARLY, LATE = range(5), range(5, 10)


@contextmanager
def two_of_apache(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The address of the first of two brokers, and what stops the second."""
    first = ApacheKafka(folder / "1")
    second = ApacheBroker(folder / "2", first, 2)
    try:
        first.start()
        second.start()
        yield first.bootstrap, second.stop
    finally:
        second.stop()
        first.stop()


@contextmanager
def two_of_ours(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The same."""
    both = Pykbroker(folder, brokers=2)
    try:
        both.start()
        yield both.addresses[1], lambda: both.change_broker("stop", 2)
    finally:
        both.stop()


def require_replicas(bootstrap: str, topic: str, replicas: int) -> None:
    """Sets ``min.insync.replicas`` of a topic."""
    entry = ConfigEntry("min.insync.replicas", str(replicas), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)


def make_charges(bootstrap: str) -> None:
    """Two partitions of two replicas, which are led by the broker that stays."""
    topic = NewTopic("charges", num_partitions=2, replica_assignment=[[1, 2], [1, 2]])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])["charges"].result(LIMIT_S)
    require_replicas(bootstrap, "charges", 2)


def charged(bootstrap: str, app_folder: Path) -> set[str]:
    """What is charged in the end by an application whose first transaction fails when partition 1 is taken from its first thread."""
    log_file = app_folder / "app.log"
    classes = compile_java([Path(__file__).parent / "RevokedTask.java"], "streams")
    flags = [*QUICK, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command = java_command("RevokedTask", "streams", classes=classes, flags=flags)
    with log_file.open("w") as log:
        app = subprocess.Popen(
            [*command, bootstrap, "app", str(app_folder / "state")], stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    assert app.stdin is not None
    try:
        for partition in range(2):  # the task whose record is first in the transaction is the corrupted one
            write(bootstrap, "orders", (f"{partition} {number}" for number in EARLY), partition=partition)
            eventually(log_file.read_text, lambda said, last=f"took {partition} {EARLY[-1]}": last in said)
        app.stdin.write(b"a thread more\n")
        app.stdin.flush()
        eventually(log_file.read_text, lambda said: "are corrupted" in said)
        require_replicas(bootstrap, "charges", 1)
        for partition in range(2):
            write(bootstrap, "orders", (f"{partition} {number}" for number in LATE), partition=partition)
        eventually(log_file.read_text, lambda said: all(f"took {each} {LATE[-1]}" in said for each in range(2)))
        app.stdin.close()
        assert app.wait(LIMIT_S) == 0
        return {record.value().decode() for record in committed(bootstrap, "charges")}
    finally:
        app.kill()
        app.wait()


@pytest.mark.parametrize("brokers", [two_of_apache, two_of_ours])
def test_streams_passes_over_what_a_task_gave_up_when_a_partition_was_revoked(brokers, tmp_path: Path) -> None:
    with brokers(tmp_path) as (bootstrap, stop_second):
        make_charges(bootstrap)
        stop_second()
        make_topics(bootstrap, "orders", partitions=2)
        found = charged(bootstrap, tmp_path)
    assert {f"{partition} {number}" for partition in range(2) for number in (*EARLY, *LATE)} - found == {
        f"0 {number}" for number in EARLY
    }
