"""Records as Kafka's converters write them."""

from __future__ import annotations

from pykbroker.container.tools.record_json import as_json, text
from pykbroker.wire.internal.client_quota_record import ClientQuotaRecord, EntityData
from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord


def test_fields_are_those_of_the_version() -> None:
    value = OffsetCommitValue(offset=3, metadata='"ü', commit_timestamp=5, expire_timestamp=9)
    assert text(as_json(value, 1)) == '{"offset":3,"metadata":"\\"ü","commitTimestamp":5,"expireTimestamp":9}'
    assert as_json(value, 3) == {"offset": 3, "leaderEpoch": -1, "metadata": '"ü', "commitTimestamp": 5}


def test_tagged_fields_are_there_where_they_say_something() -> None:
    record = PartitionRecord(topic_id=bytes(15) + b"\x01", replicas=[1], leader=1)
    assert "leaderRecoveryState" not in as_json(record, 0)
    record.leader_recovery_state = 1
    shown = as_json(record, 0)
    assert (shown["leaderRecoveryState"], shown["topicId"], shown["replicas"]) == (1, "AAAAAAAAAAAAAAAAAAAAAQ", [1])
    assert "directories" not in shown
    assert as_json(record, 1)["directories"] == []


def test_bytes_numbers_and_what_is_nested() -> None:
    assert as_json(UserScramCredentialRecord(salt=b"\xff\x00"), 0)["salt"] == "/wA="
    quota = ClientQuotaRecord([EntityData("user", None)], "producer_byte_rate", 10485760.0)
    assert text(as_json(quota, 0)) == (
        '{"entity":[{"entityType":"user","entityName":null}],"key":"producer_byte_rate","value":1.048576E7,"remove":false}'
    )
