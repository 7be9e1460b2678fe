"""Values that Confluent's serializers wrote by the schema registry of a broker, decoded into the lake's columns."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytest.importorskip("authlib", reason="the registry's client of confluent-kafka is not installed")
pytest.importorskip("google.type", reason="googleapis-common-protos is not installed")

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.type.latlng_pb2 import LatLng

from compat_tests.lake.test_decode import record, values
from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.registry import SchemaRegistry
from pykbroker.lake.values.schema_survey import Surveyor
from pykbroker.testing import Kafka


@pytest.mark.parametrize("way", [ValueFormat.AVRO, ValueFormat.PROTOBUF])
def test_what_clients_wrote_by_the_registry_of_a_broker_is_decoded(
    make: Callable[..., Workshop], topics: Topics, way: ValueFormat
) -> None:
    topic = topics.create()
    context = SerializationContext(topic, MessageField.VALUE)
    with Kafka(schema_registry=True) as kafka, SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
        if way is ValueFormat.AVRO:
            written = AvroSerializer(client, json.dumps(record(("latitude", "double"))))({"latitude": 48.1}, context)
        else:
            written = ProtobufSerializer(LatLng, client, {"use.deprecated.format": False})(
                LatLng(latitude=48.1), context
            )
        topics.send_raw(topic, None, written)
        workshop = make()
        workshop.archive(topic)
        decoded = DecodedTopic(workshop.lake, topic)
        decoded.keep_options(DecodeOptions(way))
        Decode(decoded, Surveyor(SchemaRegistry(kafka.schema_registry_url))).run(lambda _: None)
    assert [each["latitude"] for each in values(workshop, topic)] == [48.1]
