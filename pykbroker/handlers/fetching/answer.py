"""Builds a Fetch response from what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.leader_endpoints import leader_endpoints
from pykbroker.wire.messages.fetch import FetchableTopicResponse, FetchResponse, NodeEndpoint, PartitionData

if TYPE_CHECKING:
    from collections.abc import Collection

    from pykbroker.handlers.fetching.context import FetchContext
    from pykbroker.partitions.fetch_sessions import FetchItem, FetchSession


def answer(
    fetch: FetchContext, found: list[tuple[FetchItem, PartitionData]], leaders: Collection[int]
) -> FetchResponse:
    """The response: all that was found, or for an incremental session only what changed, with the endpoints of ``leaders``.

    It keeps the order of ``found``, as Kafka's does: a topic is named again where others came in between.
    """
    session = fetch.session
    response = FetchResponse(session_id=session.id if session is not None else 0)
    topic = FetchableTopicResponse()
    named: str | bytes | None = None
    for item, data in found:
        if session is not None and not _to_send(session, item, data, fetch.incremental):
            continue
        if item.topic != named:
            named = item.topic
            topic = (
                FetchableTopicResponse(topic_id=named)
                if isinstance(named, bytes)
                else FetchableTopicResponse(topic=named)
            )
            response.responses.append(topic)
        topic.partitions.append(data)
    if fetch.replica >= 0 and (replication := fetch.broker.store.replication) is not None:
        for item, data in found:
            if data.records and item.partition is not None:
                replication.sent(item.partition, len(data.records))
    if leaders:
        response.node_endpoints = leader_endpoints(fetch.broker, fetch.listener, leaders, NodeEndpoint)
    return response


def _to_send(session: FetchSession, item: FetchItem, data: PartitionData, incremental: bool) -> bool:
    """Whether a session's answer includes this partition; updates what the session remembers of it."""
    has_news = (
        bool(data.records)
        or data.error_code != 0
        or data.diverging_epoch is not None
        or data.preferred_read_replica >= 0
    )
    is_right = data.error_code == 0
    sends = session.answered(
        item,
        data.high_watermark if is_right else -1,
        data.log_start_offset if is_right else -1,
        has_records=bool(data.records),
        has_news=has_news,
        incremental=incremental,
    )
    if data.diverging_epoch is not None and session.is_replica:
        item.sent_high_watermark = -1  # it truncates its log and takes nothing else of this answer
    return sends


def without_records(index: int, code: int, *, known: bool = True) -> PartitionData:
    """An answer without records. Aborted transactions are an empty list for an unknown partition, else null, as in Kafka."""
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None if known else [],
        records=b"",
    )
