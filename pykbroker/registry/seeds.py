"""Seeds with schemas: registers them, from id 1 on, and writes keys and values by them. The registry need not run: its state is records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pykbroker.client.errors import ClientError
from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.parsing import Parser, SchemaSource
from pykbroker.registry.records import encode
from pykbroker.registry.references import source
from pykbroker.registry.schema import Reference, Schema
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import DEFAULT_CONTEXT, checked, normal
from pykbroker.registry.topic import TOPIC
from pykbroker.registry.values import SchemaValues
from pykbroker.seeding.seed import BadSeed, SeedRecord, SeedTopic

if TYPE_CHECKING:
    from pykbroker.seeding.seed import Seed, SeedSchema


def write(seed: Seed) -> None:
    """Put the records of the seed's schemas before its own, and write what is to be written by them. Raises BadSeed."""
    state, parser = RegistryState(), Parser()
    made: list[SeedRecord] = []
    for each in seed.schemas:
        try:
            made += _registered(state, parser, each)
        except RegistryError as error:
            raise BadSeed(each.at, error.message) from error

    def fetch(number: int) -> SchemaSource:
        version = state.with_id(DEFAULT_CONTEXT, number)[0]
        return source(state, version.subject, version.schema)

    values = SchemaValues(fetch)
    for record in seed.records:
        for part, (subject, value) in record.by_schema.items():
            if value is not None:
                setattr(record, part, _written(state, values, record, subject, value))
    if seed.schemas:
        seed.topics.insert(0, SeedTopic(TOPIC, seed.schemas[0].at, 1, configs={"cleanup.policy": "compact"}))
        seed.records[:0] = made


def _registered(state: RegistryState, parser: Parser, each: SeedSchema) -> list[SeedRecord]:
    subject = checked(each.subject)
    schema = Schema(each.text, each.type, tuple(Reference(*reference) for reference in each.references))
    schema = replace(schema, text=parser.parse(source(state, subject, schema, new=True)).text)
    _, changes = deciding.register(state, Registration(subject, schema))
    records = []
    for change in changes:
        state.replay(change)
        key, value = encode(change)
        records.append(SeedRecord(TOPIC, each.at, key, value, [], 0))
    return records


def _written(state: RegistryState, values: SchemaValues, record: SeedRecord, subject: str, value: object) -> bytes:
    version = state.latest(normal(subject))
    if version is None:
        raise BadSeed(record.at, f"the seed has no schema {subject}; write it under schemas")
    try:
        return values.encode(version.id, value)
    except (ValueError, ClientError, RegistryError) as error:
        raise BadSeed(record.at, str(error)) from error
