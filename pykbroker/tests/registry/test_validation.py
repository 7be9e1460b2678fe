"""What a batch's frames say, how records are named, and which settings validate. With clients: ``compat_tests/registry/test_validation.py``."""

from __future__ import annotations

import pytest

pytest.importorskip("avro")
pytest.importorskip("grpc_tools")

from pykbroker.registry.parsing import SchemaSource, _parsed
from pykbroker.registry.validation import Validated, frames, record_names, validated_by
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import Compression, Record, encode_batch

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
VALUE = {"confluent.value.schema.validation": "true"}


def framed(number: int, content: bytes = b"\x02") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + content


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_ids_are_bounded(codec: Compression) -> None:
    records = [Record(value=framed(number)) for number in range(2000)]
    batch = encode_batch(records, base_offset=0, compression=codec)
    with pytest.raises(WireError, match="more than 1000 schema ids"):
        frames(batch, Validated(None, "x"))
    (found,) = frames(encode_batch(records[:5] * 900, base_offset=0, compression=codec), Validated(None, "x"))
    assert (sum(found.counts.values()), sum(map(len, found.records.values()))) == (4500, 500)


def test_the_names_of_records() -> None:
    def names(kind: str, text: str) -> frozenset[str]:
        return record_names(kind, _parsed(SchemaSource(kind, text)))

    assert names("AVRO", ORDER) == {"shop.Order"}
    assert names("AVRO", '{"type":"enum","name":"a.E","symbols":[]}') == {"a.E"}
    assert names("AVRO", '"string"') == {"string"}
    assert names("JSON", "true") == names("JSON", "{}") == frozenset()
    assert names("PROTOBUF", 'syntax = "proto3"; message A { message B {} }') == {"A", "A.B"}


def test_what_settings_validate() -> None:
    assert validated_by({}) is None
    assert validated_by({"confluent.value.schema.validation": "false"}) is None
    assert validated_by(VALUE) == (None, "io.confluent.kafka.serializers.subject.TopicNameStrategy")
