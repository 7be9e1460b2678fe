"""Writes seeds as files, in the formats that can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path as File
from typing import Any, Final

from pykbroker.seeding import csv_rows
from pykbroker.seeding.plain_records import record_as_plain
from pykbroker.seeding.seed import Seed, SeedRecord, SeedTopic

_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".csv")
#: Formats of the records' files in a folder.
FOLDER_FORMS: Final = ("jsonl", "csv")


def check(path: File, form: str) -> None:
    """Raises ValueError if a file's extension is not a format, or ``form`` is not one for folders."""
    if form not in FOLDER_FORMS:
        raise ValueError(f"form is {form!r}; write one of {', '.join(FOLDER_FORMS)}")
    if not path.is_dir() and path.suffix and path.suffix.lower() not in _SUFFIXES:
        raise ValueError(
            f"{path}: the name says no form; let it end with one of {', '.join(_SUFFIXES)}, or name a folder"
        )


def write(seed: Seed, path: File, form: str = "jsonl") -> None:
    """Write a seed to a file, whose extension is the format, or into a folder.

    A file is replaced. A folder is created, with topics.json and a file of format ``form`` with the records of each
    topic. CSV has only records, without topics' settings. Raises ValueError.
    """
    check(path, form)
    if path.suffix and not path.is_dir():
        path.write_text(text(seed, path.suffix.lower()), encoding="utf-8")
        return
    path.mkdir(parents=True, exist_ok=True)
    (path / "topics.json").write_text(_json(document(Seed(topics=seed.topics))), encoding="utf-8")
    for topic in seed.topics:
        records = [record for record in seed.records if record.topic == topic.name]
        if records:
            (path / f"{topic.name}.{form}").write_text(text(Seed(records=records), f".{form}"), encoding="utf-8")


def text(seed: Seed, suffix: str) -> str:
    """Return the seed in the format of an extension."""
    match suffix:
        case ".yaml" | ".yml":
            from pykbroker.seeding.yaml_text import dump

            return dump(document(seed))
        case ".json":
            return _json(document(seed))
        case ".csv":
            return csv_rows.write(lines(Seed(records=seed.records)))
    return "".join(f"{json.dumps(line)}\n" for line in lines(seed))


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def document(seed: Seed) -> dict[str, Any]:
    """Return the seed as the object of a YAML or JSON document."""
    topics = {topic.name: _topic(topic) for topic in seed.topics}
    for record in seed.records:
        topics.setdefault(record.topic, {}).setdefault("records", []).append(_record(record))
    return {"topics": topics}


def lines(seed: Seed) -> Iterator[dict[str, Any]]:
    """Return the seed as the objects of JSON lines."""
    for topic in seed.topics:
        yield {"topic": topic.name, "partitions": topic.partitions, **_topic(topic)}
    for record in seed.records:
        yield {"topic": record.topic, **_record(record)}


def _topic(topic: SeedTopic) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if topic.partitions > 0:
        said["partitions"] = topic.partitions
    if topic.replication_factor > 0:
        said["replication_factor"] = topic.replication_factor
    if topic.configs:
        said["configs"] = topic.configs
    return said


def _record(record: SeedRecord) -> dict[str, Any]:
    said: dict[str, Any] = {}
    if record.partition is not None:
        said["partition"] = record.partition
    if record.timestamp is not None:
        said["timestamp"] = record.timestamp
    return said | record_as_plain(record.key, record.value, record.headers)
