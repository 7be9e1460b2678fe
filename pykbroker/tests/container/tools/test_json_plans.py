"""Files that say what is to be done with which partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.json_plans import check_distinct, entries, number, partition_of
from pykbroker.container.tools.running import ToolError


def test_entries(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 3, "offset": 5}], "version": 1}')
    (entry,) = entries(str(file))
    assert (partition_of(entry), number(entry, "offset")) == (TopicPartition("t", 3), 5)
    file.write_text('{"topics": []}')
    assert entries(str(file), "topics") == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", 'Missing "partitions" field'),
        ('{"partitions": {}}', 'Missing "partitions" field'),
        ('{"partitions": [], "version": 2}', "Not supported version field value 2"),
        ('{"partitions": [1]}', "something in it that is no object"),
    ],
)
def test_what_is_no_plan(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    with pytest.raises(ToolError, match=complaint):
        entries(str(file))


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [({"partition": 0}, '"topic" is missing'), ({"topic": 1, "partition": 0}, '"topic" is missing, or no string'),
     ({"topic": "t", "partition": True}, '"partition" is missing, or no whole number')],
)  # fmt: skip
def test_what_names_no_partition(entry: dict[str, object], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        partition_of(entry)


def test_what_is_there_twice_is_named() -> None:
    check_distinct([1, 2], "twice")
    with pytest.raises(ToolError, match="twice: t-1"):
        check_distinct([TopicPartition("t", 1), TopicPartition("t", 2), TopicPartition("t", 1)], "twice")
