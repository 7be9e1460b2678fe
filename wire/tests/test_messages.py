"""Properties of the generated classes: round trips, defaults, what a version cannot carry, tagged fields."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.apis import APIS, ApiKey, request_class, response_class
from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.api_versions import ApiVersionsResponse
from pykbroker.wire.messages.fetch import EpochEndOffset, FetchableTopicResponse, FetchResponse, PartitionData
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.primitives import MAX_STRING, ZERO_UUID
from pykbroker.wire.tests.kafka_messages import all_versions, build, encoded, message_class, schemas
from scripts.wiregen.schema import Array, Nested


@given(st.sampled_from(all_versions()), st.randoms(use_true_random=False))
def test_what_is_written_is_read_back(which: tuple[str, int], source: random.Random) -> None:
    name, version = which
    message = build(name, version, source)
    data = encoded(message, version)
    prefix = source.randbytes(source.randrange(5))
    decoded, pos = message_class(name).decode(memoryview(prefix + data), len(prefix), version)
    assert pos == len(prefix) + len(data)
    assert encoded(decoded, version) == data
    assert decoded == message


def test_defaults_are_written_and_read_by_every_version() -> None:
    for name, version in all_versions():
        cls = message_class(name)
        default = cls()
        data = encoded(default, version)
        assert cls.decode(data, 0, version) == (default, len(data))


def test_what_a_version_lacks_is_refused_unless_it_may_be_dropped() -> None:
    """Schemas mark a field ignorable where an older version may go without it; Kafka refuses to write the others."""
    source = random.Random(3)
    tried = 0
    for name, version in all_versions():
        for each in schemas()[name].body.fields:
            if version in each.versions or each.struct or isinstance(each.type, Nested | Array):
                continue
            donor = next(
                (v for v in range(each.versions.low, schemas()[name].valid.high + 1) if v in each.versions), None
            )
            if donor is None or donor not in schemas()[name].valid:
                continue
            message = message_class(name)()
            value = getattr(build(name, donor, source), each.name)
            if value == getattr(message, each.name):
                continue
            tried += 1
            plain = encoded(message, version)
            setattr(message, each.name, value)
            if each.ignorable:
                assert encoded(message, version) == plain
            else:
                with pytest.raises(WireError, match=f"cannot write {name} version {version}: field {each.name} has"):
                    encoded(message, version)
    assert tried > 150


def test_nested_fields_a_version_lacks_are_refused() -> None:
    request = OffsetFetchRequest(group_id="g", require_stable=True)
    with pytest.raises(WireError, match="field require_stable has a value"):
        encoded(request, 6)
    partition = PartitionData(preferred_read_replica=3)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    with pytest.raises(WireError, match="field preferred_read_replica has a value"):
        encoded(response, 10)
    assert FetchResponse.decode(encoded(response, 11), 0, 11)[0].responses[0].partitions == [partition]


def test_null_is_refused_where_the_version_has_none() -> None:
    with pytest.raises(WireError, match="field topics must not be null"):
        encoded(MetadataRequest(topics=None), 0)
    assert encoded(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"
    with pytest.raises(WireError, match="MetadataRequest version 0: field topics must not be null"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0, 0)
    named_nothing = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=bytes(range(16)))])
    with pytest.raises(WireError, match="field name must not be null"):
        encoded(named_nothing, 9)
    assert MetadataRequest.decode(encoded(named_nothing, 12), 0, 12)[0] == named_nothing


@pytest.mark.parametrize("version", [8, 9])
def test_values_that_do_not_fit_are_refused(version: int) -> None:
    for request in (
        MetadataRequest(topics=[MetadataRequestTopic(name="x" * (MAX_STRING + 1))]),
        MetadataRequest(topics=[MetadataRequestTopic(name="\ud800")]),
        ProduceRequest(acks=40000),
    ):
        with pytest.raises(WireError, match=f"cannot write {type(request).__name__} version {version}"):
            encoded(request, version)
    longest = MetadataRequest(topics=[MetadataRequestTopic(name="x" * MAX_STRING)])
    assert MetadataRequest.decode(encoded(longest, version), 0, version)[0] == longest


def test_records_are_slices_of_the_frame_and_bytes_are_copies() -> None:
    request = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, b"records")])])
    frame = bytearray(encoded(request, 9))
    decoded, _ = ProduceRequest.decode(memoryview(frame), 0, 9)
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"records")] = ord("R")
    assert records == b"Records"


def test_unknown_tagged_fields_are_kept_in_order_between_known_ones() -> None:
    partition = PartitionData(diverging_epoch=EpochEndOffset(1, 2), unknown_tagged_fields={9: b"nine", 4: b"four"})
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    data = encoded(response, 12)
    assert data.index(b"four") < data.index(b"nine")
    assert FetchResponse.decode(data, 0, 12)[0] == response
    partition.unknown_tagged_fields = {0: b"twice"}
    with pytest.raises(WireError, match="repeat the tags"):
        encoded(response, 12)
    partition.diverging_epoch = None
    with pytest.raises(WireError, match="unknown_tagged_fields has a value"):
        encoded(response, 11)


def test_a_tagged_field_longer_than_its_value_is_refused() -> None:
    good = ApiVersionsResponse(finalized_features_epoch=5)
    data = encoded(good, 3)
    at = data.rindex(b"\x01\x08")
    assert ApiVersionsResponse.decode(data, 0, 3)[0] == good
    with pytest.raises(WireError, match="tagged field 1 is 1 bytes longer"):
        ApiVersionsResponse.decode(data[:at] + b"\x01\x09" + data[at + 2 :] + b"\0", 0, 3)


def test_lists_are_not_shared_between_objects() -> None:
    one, other = MetadataRequest(), MetadataRequest()
    assert one.topics is not None
    one.topics.append(MetadataRequestTopic(name="t"))
    assert other.topics == []
    assert MetadataRequest(topics=None).topics is None
    assert MetadataRequestTopic().topic_id == ZERO_UUID


def test_equality_is_by_class_and_fields() -> None:
    assert MetadataRequest() == MetadataRequest()
    assert MetadataRequest() != MetadataRequest(allow_auto_topic_creation=False)
    assert MetadataRequest() != ProduceRequest()
    assert repr(MetadataRequestTopic(name="t")).startswith("MetadataRequestTopic(topic_id=b'\\x00")
    with pytest.raises(TypeError):
        hash(MetadataRequest())


def test_every_api_has_its_classes() -> None:
    for key in APIS:
        assert request_class(key).__name__ == f"{APIS[key].name}Request"
        assert response_class(key).API_KEY == request_class(key).API_KEY == key
        assert (APIS[key].min_version, APIS[key].max_version) == request_class(key).VERSIONS
        assert APIS[key].flexible_from == request_class(key).FLEXIBLE_FROM
    with pytest.raises(KeyError):
        request_class(ApiKey.LEADER_AND_ISR)


def test_the_table_of_apis_imports_no_message() -> None:
    program = "import sys, wire.apis, wire.headers; print([m for m in sys.modules if m.startswith('pykbroker.wire.messages')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
