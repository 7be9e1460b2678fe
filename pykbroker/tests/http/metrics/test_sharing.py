"""Metrics of share groups, of a cluster in memory."""

from __future__ import annotations

from pykbroker.controller.topics import NewTopic
from pykbroker.http.metrics.page import Page
from pykbroker.http.metrics.sharing import ShareCollector
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember


def page_of(world: ShareCluster) -> str:
    page = Page()
    for _ in ShareCollector().collect(world.cluster, page):
        world.run_turn()
    return b"".join(page.chunks()).decode()


def worked() -> ShareCluster:
    """A cluster with a share group that has accepted, rejected and left something."""
    world = ShareCluster()
    world.create(NewTopic("dlq.t", 1, 1, configs={"errors.deadletterqueue.group.enable": "true"}))
    world.configure("errors.deadletterqueue.topic.name", "dlq.t")
    world.joined()
    member = ShareMember(world)
    world.produce(10)
    assert member.acquired() == [(0, 9, 1)]
    member.acknowledge(2, 3, Acknowledge.ACCEPT)
    member.acknowledge(5, 6, Acknowledge.REJECT)
    world.advance(40_000)
    world.settle()
    return world


def test_without_share_groups_nothing_of_them_is_made() -> None:
    world = ShareCluster()
    page_of(world)
    assert world.cluster.brokers[1].started_share_partitions is None


def test_what_is_in_flight_and_what_was_said_of_it() -> None:
    lines = [line for line in page_of(worked()).splitlines() if not line.startswith("#")]
    found = dict(line.removeprefix("kafka_server_").rsplit(" ", 1) for line in lines)
    here = '{group="work",topic="t",partition="0"}'
    assert found[f"sharepartitionmetrics_inflightmessagecount{here}"] == "10"
    assert found[f"sharepartitionmetrics_inflightbatchcount{here}"] == "5"
    assert found[f"sharepartitionmetrics_acquisitionlocktimeout_total{here}"] == "6"
    assert found['sharegroupmetrics_recordacknowledgements_total{ackType="accept"}'] == "1"
    assert found['sharegroupmetrics_recordacknowledgements_total{ackType="release"}'] == "0"
    assert found['sharegroupmetrics_deadletterqueuerecord_total{group="work"}'] == "2"
    writes = found['share_coordinator_metrics_write_total{broker="1"}']
    assert int(writes) >= 4  # both acknowledgements, the end of the letters, the locks that were over
