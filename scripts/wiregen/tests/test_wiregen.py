"""The generator: version ranges, names, defaults, and that what is checked in is what it writes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts.wiregen.names import snake, upper
from scripts.wiregen.schema import Array, Nested, Scalar, parse
from scripts.wiregen.segments import condition, otherwise
from scripts.wiregen.versions import HIGHEST, NONE, Versions


@pytest.mark.deep
def test_checked_in_files_are_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.wiregen", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("text", ["none", "3", "3-5", "0+"])
def test_version_ranges_print_as_they_are_written(text: str) -> None:
    assert str(Versions.parse(text)) == text


def test_algebra_of_version_ranges() -> None:
    assert Versions(3, 9) & Versions(5, HIGHEST) == Versions(5, 9)
    assert Versions(3, 4) & Versions(5, 6) == NONE
    assert not NONE
    assert Versions(1, 2) | Versions(5, 6) == Versions(1, 6)
    assert NONE | Versions(5, 6) == Versions(5, 6)
    assert Versions(0, HIGHEST).covers(Versions(3, 4))
    assert not Versions(3, 4).covers(Versions(3, 5))
    assert Versions(3, 9).below(5) == Versions(3, 4)
    assert Versions(0, 5).split(lambda version: version >= 3) == [Versions(3, 5), Versions(0, 2)]


@pytest.mark.parametrize(
    ("part", "whole", "inside", "outside"),
    [
        (Versions(0, HIGHEST), Versions(2, 5), "", ""),
        (Versions(3, HIGHEST), Versions(2, 5), "version >= 3", "version < 3"),
        (Versions(0, 3), Versions(2, 5), "version <= 3", "version > 3"),
        (Versions(3, 4), Versions(2, 5), "3 <= version <= 4", "not 3 <= version <= 4"),
    ],
)
def test_tests_of_the_version_are_folded_away(part: Versions, whole: Versions, inside: str, outside: str) -> None:
    assert condition(part, whole) == inside
    assert otherwise(part, whole) == outside


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ErrorCode", "error_code"),
        ("IsrNodes", "isr_nodes"),
        ("KRaftVersionFeature", "kraft_version_feature"),
        ("commitTimestamp", "commit_timestamp"),
        ("HTTPServerURL", "http_server_url"),
        ("Class", "class_"),
    ],
)
def test_names_become_pythons(name: str, wanted: str) -> None:
    assert snake(name) == wanted


def test_api_names_become_kafkas_constants() -> None:
    assert upper("OffsetForLeaderEpoch") == "OFFSET_FOR_LEADER_EPOCH"


def test_a_schema_is_read_with_its_types_and_defaults() -> None:
    message = parse(
        """{ "apiKey": 7, "type": "request", "name": "ThingRequest", "validVersions": "1-4", "flexibleVersions": "3+",
        "listeners": ["broker"], "fields": [
          { "name": "Limit", "type": "int32", "versions": "0+", "default": "0x7fffffff" },
          { "name": "Owner", "type": "string", "versions": "2+", "nullableVersions": "2+", "ignorable": true },
          { "name": "Reason", "type": "string", "versions": "3+", "nullableVersions": "3+", "default": "null",
            "taggedVersions": "3+", "tag": 5 },
          { "name": "Parts", "type": "[]Part", "versions": "0+", "fields": [
            { "name": "Ids", "type": "[]uuid", "versions": "4+" } ] } ] }"""
    )
    limit, owner, reason, parts = message.body.fields
    assert limit.default == 2**31 - 1
    assert (owner.default, owner.ignorable, owner.nullable) == ("", True, Versions(2, HIGHEST))
    assert (reason.default, reason.tag, reason.plain) == (None, 5, NONE)
    assert parts.type == Array(Nested("Part"))
    assert message.by_name["Part"].fields[0].type == Array(Scalar("uuid"))
    assert message.reach == {"ThingRequest": Versions(1, 4), "Part": Versions(1, 4)}
    assert not message.has_records
