"""Plans of reassignments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.reassignment_plan import ReassignmentPlan, as_json, check_plan, read_plan
from pykbroker.container.tools.running import ToolError

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    plan = ReassignmentPlan({TWO: [2], ONE: [1, 2]}, {(2, ONE): "/data"})
    file = tmp_path / "plan.json"
    file.write_text(as_json(plan))
    assert [each["log_dirs"] for each in json.loads(file.read_text())["partitions"]] == [["any", "/data"], ["any"]]
    assert read_plan(str(file)) == plan


@pytest.mark.parametrize("replicas", [None, "1", [1, "2"], [True]])
def test_replicas_are_a_list_of_numbers(tmp_path: Path, replicas: object) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"partitions": [{"topic": "t", "partition": 0, "replicas": replicas}]}))
    with pytest.raises(ToolError, match='"replicas" is missing, or no list of int'):
        read_plan(str(file))


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (ReassignmentPlan(), "Partition reassignment list cannot be empty"),
        (ReassignmentPlan({ONE: []}), "Partition replica list cannot be empty"),
        (ReassignmentPlan({ONE: [1, 2, 1]}), "t-0 contains multiple entries for 1"),
    ],
)
def test_what_cannot_be_asked_for(plan: ReassignmentPlan, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        check_plan(plan)
