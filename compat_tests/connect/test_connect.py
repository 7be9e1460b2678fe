"""Kafka Connect 4.3.1, distributed: two workers with exactly-once sources, file connectors, every change through REST.

Left out: connectors other than those of files, secured REST, workers of several versions.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from compat_tests.connect.conftest import GROUP, Lines
from compat_tests.connect.connectors import Connector
from compat_tests.connect.seen import await_file, await_values, describe_group
from compat_tests.connect.worker import Refused
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import make_topics, values

# ---- the group


def test_two_workers_are_one_group(broker, workers):
    eventually(lambda: describe_group(broker, GROUP), lambda seen: seen == ("Stable", "connect", "sessioned", 2))


def test_the_topics_of_connect_are_compacted(broker, workers):
    topics = {f"{GROUP}-{what}": partitions for what, partitions in (("config", 1), ("offset", 3), ("status", 2))}
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    described = admin.list_topics(timeout=60).topics
    assert {topic: len(described[topic].partitions) for topic in topics} == topics
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    for answer in admin.describe_configs(resources).values():
        assert answer.result(60)["cleanup.policy"].value == "compact"


# ---- lines


def test_lines_of_a_file_arrive_in_another(broker, connector, topic, lines, tmp_path):
    lines.append(3000)
    connector("FileStreamSource", file=str(lines.path), topic=topic)
    connector("FileStreamSink", file=str(tmp_path / "sink.txt"), topics=topic)
    await_file(tmp_path / "sink.txt", lines.written)
    lines.append(500)
    await_file(tmp_path / "sink.txt", lines.written)
    await_values(broker, topic, lines.written)


def test_a_paused_source_rests(broker, connector, topic, lines, tmp_path, name):
    other, other_lines = name("other"), Lines(tmp_path / "other.txt")
    make_topics(broker.bootstrap, other)
    paused = connector("FileStreamSource", file=str(lines.path), topic=topic)
    connector("FileStreamSource", file=str(other_lines.path), topic=other)
    lines.append(10)
    await_values(broker, topic, lines.written)
    paused.pause()
    before = list(lines.written)
    lines.append(10)
    for _ in range(2):  # a source looks at its file once a second
        other_lines.append(10)
        await_values(broker, other, other_lines.written)
    assert values(broker.bootstrap, topic) == before
    paused.resume()
    await_values(broker, topic, lines.written)


# ---- offsets


def test_offsets_of_a_source_are_read_and_reset(broker, connector, topic, lines):
    source = connector("FileStreamSource", file=str(lines.path), topic=topic)
    lines.append(100)
    await_values(broker, topic, lines.written)
    # The markers of one transaction come to its partitions one after another.
    read = {"partition": {"filename": str(lines.path)}, "offset": {"position": lines.path.stat().st_size}}
    eventually(source.offsets, lambda offsets: offsets == [read])
    source.stop()
    assert "have been reset successfully" in source.reset_offsets()
    assert source.offsets() == []
    source.resume()
    await_values(broker, topic, lines.written * 2)


def test_offsets_of_a_sink_are_altered_and_reset(broker, connector, topic, lines, tmp_path):
    connector("FileStreamSource", file=str(lines.path), topic=topic)
    sink = connector("FileStreamSink", file=str(tmp_path / "sink.txt"), topics=topic)
    lines.append(100)
    await_file(tmp_path / "sink.txt", lines.written)
    partition = {"kafka_topic": topic, "kafka_partition": 0}
    end = eventually(sink.offsets, lambda found: found and found[0]["offset"]["kafka_offset"] >= 100)
    assert [found["partition"] for found in end] == [partition]
    with pytest.raises(Refused, match="STOPPED"):
        sink.set_offsets({"partition": partition, "offset": {"kafka_offset": 40}})
    sink.stop()
    said = sink.set_offsets({"partition": partition, "offset": {"kafka_offset": 40}})
    assert "have been altered successfully" in said
    assert sink.offsets() == [{"partition": partition, "offset": {"kafka_offset": 40}}]
    sink.resume()
    await_file(tmp_path / "sink.txt", lines.written + lines.written[40:])
    sink.stop()
    assert "have been reset successfully" in sink.reset_offsets()
    sink.resume()
    await_file(tmp_path / "sink.txt", lines.written + lines.written[40:] + lines.written)


# ---- death


def slow_source(connector: Callable[..., Connector], lines: Lines, topic: str) -> Connector:
    """A source with a transaction for every few lines, so that there is one open at most moments."""
    return connector("FileStreamSource", file=str(lines.path), topic=topic, batch_size=str(Lines.IN_ONE_READ))


def await_some(broker: BrokerProcess, topic: str, source: Connector) -> None:
    """Until the source is in the middle of its work."""

    def look() -> list[str]:
        source.restart_early_end()
        return values(broker.bootstrap, topic)

    eventually(look, lambda seen: len(seen) > 200)


def test_another_worker_takes_over_exactly_once(broker, workers, connector, topic, lines):
    lines.append(24_000)
    source = slow_source(connector, lines, topic)
    await_some(broker, topic, source)
    dying = next(worker for worker in workers if worker.worker_id == source.task_worker())
    (source.worker,) = (worker for worker in workers if worker is not dying)
    dying.kill()
    try:
        assert len(values(broker.bootstrap, topic)) < len(lines.written), "it was killed too late to show anything"
        lines.append(160)
        await_values(broker, topic, lines.written, meanwhile=source.restart_early_end)
        assert source.task_worker() == source.worker.worker_id
    finally:
        dying.start()


@pytest.mark.parametrize("death", ["restart", "kill"])
def test_the_broker_goes_and_comes_exactly_once(broker, workers, connector, topic, lines, tmp_path, death):
    lines.append(24_000)
    connector("FileStreamSink", file=str(tmp_path / "sink.txt"), topics=topic)
    source = slow_source(connector, lines, topic)
    await_some(broker, topic, source)
    if death == "restart":
        broker.restart()
    else:
        broker.kill()
        broker.start()
    assert len(values(broker.bootstrap, topic)) < len(lines.written), "it ended too late to show anything"
    lines.append(160)
    await_values(broker, topic, lines.written, meanwhile=source.restart_early_end)
    # A sink flushes before it commits, so it may write lines again after the broker was away, but it loses none.
    sunk = eventually(
        (tmp_path / "sink.txt").read_text, lambda text: text.endswith(lines.written[-1] + "\n")
    ).splitlines()
    assert list(dict.fromkeys(sunk)) == lines.written
