"""What is on its way between machines, in words."""

from __future__ import annotations

from pykbroker.brokers.memory_peers import Passage
from pykbroker.metadata.image import NO_LEADER
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.simulation.machines import Published
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.broker_registration_change_record import BrokerRegistrationChangeRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.internal.register_broker_record import RegisterBrokerRecord
from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, PartitionData
from pykbroker.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pykbroker.wire.records import decode_records, iter_batches

_SAME = -2


def described(passage: Passage) -> str:
    """One passage, without sender and receiver."""
    content = passage.content
    if isinstance(content, Published):
        return "Metadata: " + "; ".join(filter(None, map(_record, content.records)))
    if isinstance(content, KafkaError):
        return ErrorCode(content.code).name
    if isinstance(content, FetchRequest):
        return _fetch(content)
    if isinstance(content, FetchResponse):
        return _fetched(content)
    if isinstance(content, AlterPartitionRequest):
        return _alter(content)
    if isinstance(content, AlterPartitionResponse):
        return _altered(content)
    if isinstance(content, ListOffsetsRequest):
        asked = content.topics[0].partitions[0]
        return f"ListOffsets {'earliest' if asked.timestamp == _SAME else 'latest'} epoch={asked.current_leader_epoch}"
    if isinstance(content, ListOffsetsResponse):
        found = content.topics[0].partitions[0]
        return f"ListOffsets {_error(found.error_code) or f'offset={found.offset}'}"
    return type(content).__name__


def _error(code: int) -> str:
    return ErrorCode(code).name if code else ""


def _fetch(request: FetchRequest) -> str:
    parts = [_fetch_place(each) for topic in request.topics for each in topic.partitions]
    gone = " forgets t-0" if request.forgotten_topics_data else ""
    state = request.replica_state
    assert state is not None
    return f"Fetch of broker epoch {state.replica_epoch}{' ' if parts else ''}{' '.join(parts)}{gone}"


def _fetch_place(place: FetchPartition) -> str:
    return f"offset={place.fetch_offset} epoch={place.current_leader_epoch} last={place.last_fetched_epoch}"


def _fetched(response: FetchResponse) -> str:
    if response.error_code:
        return f"Fetched {_error(response.error_code)}"
    return "Fetched " + (
        " ".join(_answer(each) for topic in response.responses for each in topic.partitions) or "nothing"
    )


def _answer(data: PartitionData) -> str:
    if data.error_code:
        return _error(data.error_code)
    diverging = data.diverging_epoch
    if diverging is not None and diverging.epoch >= 0:
        return f"diverges: epoch {diverging.epoch} ends at {diverging.end_offset}"
    records = data.records or b""
    if isinstance(records, list):
        records = b"".join(bytes(piece) for piece in records)
    return f"{_batches(bytes(records))}high watermark {data.high_watermark}"


def _batches(data: bytes) -> str:
    found = [
        f"{record.offset}:{header.partition_leader_epoch}{(record.value or b'').decode()} "
        for position, header in iter_batches(data)
        for record in decode_records(data[position : position + header.size], header=header)
    ]
    return "".join(found)


def _alter(request: AlterPartitionRequest) -> str:
    (wanted,) = request.topics[0].partitions
    members = ",".join(f"{each.broker_id}@{each.broker_epoch}" for each in wanted.new_isr_with_epochs)
    return f"AlterPartition isr={members} epoch={wanted.leader_epoch} partition epoch={wanted.partition_epoch}"


def _altered(response: AlterPartitionResponse) -> str:
    if response.error_code:
        return f"AlterPartition {_error(response.error_code)}"
    (found,) = response.topics[0].partitions
    if found.error_code:
        return f"AlterPartition {_error(found.error_code)}"
    return f"AlterPartition isr={_ids(found.isr)} partition epoch={found.partition_epoch}"


def _ids(ids: list[int] | None) -> str:
    return ",".join(map(str, ids or [])) or "none"


def _record(record: MetadataRecord) -> str:
    if isinstance(record, PartitionChangeRecord):
        words = []
        if record.leader != _SAME:
            words.append("no leader" if record.leader == NO_LEADER else f"{record.leader} leads")
        if record.isr is not None:
            words.append(f"isr={_ids(record.isr)}")
        if record.eligible_leader_replicas is not None:
            words.append(f"elr={_ids(record.eligible_leader_replicas)}")
        if record.last_known_elr is not None:
            words.append(f"last known={_ids(record.last_known_elr)}")
        if record.leader_recovery_state >= 0:
            words.append("RECOVERING" if record.leader_recovery_state else "RECOVERED")
        return " ".join(words)
    if isinstance(record, BrokerRegistrationChangeRecord):
        return (
            f"{record.broker_id} is {'fenced' if record.fenced > 0 else 'unfenced' if record.fenced < 0 else 'leaving'}"
        )
    if isinstance(record, RegisterBrokerRecord):
        return f"{record.broker_id} is registered with epoch {record.broker_epoch}"
    return ""
