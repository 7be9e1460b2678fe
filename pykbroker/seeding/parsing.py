"""Parses plain objects as a seed: a document of topics with their records, or a single topic or record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pykbroker.seeding.plain_records import FIELDS, NONE, check_fields, meaning, record_from_plain, shape, whole_number
from pykbroker.seeding.seed import At, Misfit, Path, Seed, SeedRecord, SeedSchema, SeedSource, SeedTopic

_TOPIC_FIELDS = ("partitions", "replication_factor", "configs")
_LARGEST_COUNT, _LARGEST_FACTOR = 2**31 - 1, 2**15 - 1
_SCHEMA_FIELDS = ("schema", "type", "references")
_SCHEMA_EXAMPLE = '{"schema": {"type": "record", "name": "Order", "fields": []}}'
#: The fields of a record that name the subject by which a part of it is written.
_BY_SCHEMA = {"key_schema": "key", "value_schema": "value"}
EXAMPLE = '{"topics": {"orders": {"partitions": 3, "records": [{"key": "k", "value": "v"}]}}}'


def document(found: Any, source: SeedSource) -> Seed:
    """Return the seed of a whole document. Raises Misfit."""
    if not isinstance(found, dict):
        raise Misfit((), f"{shape(found)}, not an object such as {EXAMPLE}")
    check_fields(found, ("topics", "schemas"), "", ())
    topics = found.get("topics", {} if "schemas" in found else None)
    if not isinstance(topics, dict):
        raise Misfit(("topics",), f"topics is {shape(topics)}, not an object of topics by their names")
    check_fields(topics, tuple(topics), "", ("topics",))
    seed = Seed(schemas=list(_schemas(found.get("schemas", {}), source)))
    for name, described in topics.items():
        _add_topic(seed, name, described, source)
    return seed


def _schemas(found: Any, source: SeedSource) -> Iterator[SeedSchema]:
    """The versions of subjects, each an object with its schema, or a list of such."""
    if not isinstance(found, dict):
        raise Misfit(("schemas",), f"schemas is {shape(found)}, not an object of schemas by their subjects")
    check_fields(found, tuple(found), "", ("schemas",))
    for subject, described in found.items():
        versions = described if isinstance(described, list) else [described]
        for number, each in enumerate(versions):
            path: Path = ("schemas", subject, number) if isinstance(described, list) else ("schemas", subject)
            yield _schema(subject, each, At(source, path))


def _schema(subject: str, found: Any, at: At) -> SeedSchema:
    if not isinstance(found, dict):
        raise Misfit(at.path, f"{shape(found)}, not an object such as {_SCHEMA_EXAMPLE}")
    check_fields(found, _SCHEMA_FIELDS, " of a schema", at.path)
    said = meaning(dict(found))
    text, kind, references = said.get("schema"), said.get("type", "AVRO"), said.get("references") or []
    if not isinstance(text, str | dict | list):
        raise Misfit((*at.path, "schema"), f"schema is {shape(text)}, not its text or its object")
    if not isinstance(kind, str):
        raise Misfit((*at.path, "type"), f"type is {shape(kind)}, not AVRO, JSON or PROTOBUF")
    try:
        to = [(str(each["name"]), str(each["subject"]), int(each["version"])) for each in references]
    except (LookupError, TypeError, ValueError) as error:
        raise Misfit((*at.path, "references"), "a reference is an object with name, subject and version") from error
    return SeedSchema(subject, at, text if isinstance(text, str) else json.dumps(text), kind.upper(), to)


def _add_topic(seed: Seed, name: str, described: Any, source: SeedSource) -> None:
    """Add a topic, which is an object, a list of its records, or null for the broker's defaults."""
    path: Path = ("topics", name)
    given: dict[str, Any] = {}
    records: Any = []
    if isinstance(described, dict):
        check_fields(described, (*_TOPIC_FIELDS, "records"), " of a topic", path)
        given = {field: value for field, value in described.items() if field != "records"}
        records, above = described.get("records") or [], (*path, "records")
    else:
        records, above = described if described is not None else [], path
    if not isinstance(records, list):
        raise Misfit(above, f"the records of {name} are {shape(records)}, not a list of records")
    seed.topics.append(topic(name, given, At(source, path)))
    seed.records += [record(name, each, At(source, (*above, number))) for number, each in enumerate(records)]


def is_topic(found: Any) -> bool:
    """Whether an object by itself, such as a JSON line, describes a topic and not a record."""
    return isinstance(found, dict) and not found.keys().isdisjoint(_TOPIC_FIELDS)


def single_topic(found: dict[str, Any], otherwise: str | None, at: At) -> SeedTopic:
    """Return the topic of an object; ``otherwise`` is its name if the object has none. Raises Misfit."""
    check_fields(found, ("topic", *_TOPIC_FIELDS), " of a topic", at.path)
    return topic(_named(found, otherwise, at.path), {name: found[name] for name in found if name != "topic"}, at)


def single_record(found: Any, otherwise: str | None, at: At) -> SeedRecord:
    """Return the record of an object that names its topic, or else of topic ``otherwise``. Raises Misfit."""
    named = _named(found, otherwise, at.path) if isinstance(found, dict) else ""
    return _record(named, found, at)


def _named(found: dict[str, Any], otherwise: str | None, path: Path) -> str:
    name = found.get("topic", otherwise)
    if name is None:
        raise Misfit(path, 'there is no topic; write "topic": "orders"')
    name = meaning(name)
    if not isinstance(name, str):
        raise Misfit((*path, "topic"), f"topic is {shape(name)}, not a string")
    return name


def topic(name: str, given: dict[str, Any], at: At) -> SeedTopic:
    """Return a topic with its settings. Raises Misfit."""
    made = SeedTopic(name, at)
    made.partitions = _count(given, "partitions", _LARGEST_COUNT, "a number of partitions from 1 on", at.path)
    made.replication_factor = _count(
        given, "replication_factor", _LARGEST_FACTOR, "a number of replicas from 1 on", at.path
    )
    configs = given.get("configs") or {}
    if not isinstance(configs, dict):
        raise Misfit((*at.path, "configs"), f"configs is {shape(configs)}, not an object of settings by their names")
    check_fields(configs, tuple(configs), "", (*at.path, "configs"))
    made.configs = {setting: _setting(value, (*at.path, "configs", setting)) for setting, value in configs.items()}
    return made


def _count(given: dict[str, Any], field: str, largest: int, wanted: str, above: Path) -> int:
    if given.get(field) is None:
        return NONE
    path = (*above, field)
    number = whole_number(given[field], field, largest, wanted, path)
    if number < 1:
        raise Misfit(path, f"{field} is {number}, not {wanted}")
    return number


def _setting(value: Any, path: Path) -> str:
    value = meaning(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise Misfit(path, f"the setting {path[-1]} is {shape(value)}; write text, a number, or true or false")


def record(name: str, found: Any, at: At) -> SeedRecord:
    """Return a record that is listed under its topic. Raises Misfit."""
    if isinstance(found, dict):
        check_fields(found, (*FIELDS[1:], *_BY_SCHEMA), " of a record", at.path)
    return _record(name, found, at)


def _record(name: str, found: Any, at: At) -> SeedRecord:
    by_schema = {}
    if isinstance(found, dict) and not found.keys().isdisjoint(_BY_SCHEMA):
        for field, part in _BY_SCHEMA.items():
            if field in found:
                by_schema[part] = _subject_of(found, field, at.path), meaning(found.get(part))
        found = {field: value for field, value in found.items() if field not in _BY_SCHEMA}
    read = record_from_plain(found, at.path)
    return SeedRecord(name, at, read.key, read.value, read.headers, read.partition, read.timestamp, by_schema)


def _subject_of(found: dict[str, Any], field: str, path: Path) -> str:
    subject = meaning(found[field])
    if not isinstance(subject, str):
        raise Misfit((*path, field), f"{field} is {shape(subject)}, not the subject of a schema")
    return subject
