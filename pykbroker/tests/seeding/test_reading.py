"""Seeds in each form: what is said, and what is told of one that cannot be meant: the file, the line, the column, and what to
write instead.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pykbroker.seeding.reading import read
from pykbroker.seeding.seed import BadSeed
from pykbroker.tests.kit.properties import BUSY

ORDERS_YAML = """\
topics:
  orders:
    partitions: 3
    configs: {cleanup.policy: compact, retention.ms: 1000, preallocate: true}
    records:
      - {key: customer-7, value: one book, partition: 2}
      - key: 007
        value: {id: 1, on: yes}
        headers: {source: test, none: null, n: 1.10}
        timestamp: 2026-01-31T14:20:00Z
      - {key: customer-7, value: null}
      - {key: no, value: 2026-01-31, timestamp: 5}
  audit:
  plain: [{value: "null"}, {value_base64: /w==}]
"""


def test_yaml_is_read_as_people_mean_it(tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text(ORDERS_YAML)
    seed = read(path)
    orders, audit, plain = seed.topics
    assert (orders.name, orders.partitions) == ("orders", 3)
    assert orders.configs == {"cleanup.policy": "compact", "retention.ms": "1000", "preallocate": "true"}
    assert [(audit.name, audit.partitions, audit.configs), plain.name] == [("audit", -1, {}), "plain"]
    assert [(each.topic, each.key, each.value) for each in seed.records] == [
        ("orders", b"customer-7", b"one book"),
        ("orders", b"007", b'{"id": 1, "on": true}'),
        ("orders", b"customer-7", None),
        ("orders", b"no", b"2026-01-31"),
        ("plain", None, b"null"),
        ("plain", None, b"\xff"),
    ]
    first, second, third, fourth, *_ = seed.records
    assert (first.partition, first.timestamp, second.partition) == (2, None, None)
    assert (second.timestamp, fourth.timestamp) == (1_769_869_200_000, 5)
    assert second.headers == [("source", b"test"), ("none", None), ("n", b"1.10")]
    assert str(third.at) == f"{path}:11:9"


def test_lines_of_json_are_records_and_topics(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text(
        '\ufeff{"partitions": 2, "configs": {"cleanup.policy": "compact"}}\n'
        '{"key": "k", "value": {"id": 1}}\n\n'
        '{"topic": "other", "offset": 9, "value": null}'
    )
    seed = read(path)
    [orders] = seed.topics
    assert (orders.name, orders.partitions, orders.configs) == ("orders", 2, {"cleanup.policy": "compact"})
    assert [(each.topic, each.key, each.value) for each in seed.records] == [
        *(("orders", b"k", b'{"id": 1}'), ("other", None, None)),
    ]


def test_csv_names_its_columns_and_null_has_a_sign(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(
        'key,value,partition,headers,topic,value_base64\nk,"one, ""two""",1,"{""h"": ""x""}",,\n\\N,\\N,,,other,\n,,,,,/w==\n'
    )
    one, two, three = read(path).records
    assert (one.topic, one.key, one.value, one.partition, one.headers) == (
        *("orders", b"k", b'one, "two"', 1),
        [("h", b"x")],
    )
    assert (two.topic, two.key, two.value, two.partition) == ("other", None, None, None)
    assert (three.key, three.value) == (b"", b"\xff")


def test_a_folder_is_all_its_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text('{"topics": {"orders": {"partitions": 2}}}')
    (tmp_path / "orders.csv").write_text("key,value\nk,v\n")
    (tmp_path / ".hidden").write_text("no seed")
    seed = read(tmp_path)
    assert [topic.partitions for topic in seed.topics] == [2]
    assert [(record.topic, record.value) for record in seed.records] == [("orders", b"v")]


def test_an_object_of_python() -> None:
    seed = read({"topics": {"orders": [{"key": b"\xff", "value": {"id": 1}}]}})
    assert [(record.key, record.value) for record in seed.records] == [(b"\xff", b'{"id": 1}')]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "s.yaml",
            "topics:\n  orders:\n    records:\n      - {key: k, vlaue: v}\n",
            's.yaml:4:18: there is no field "vlaue" of a record; did you mean "value"?',
        ),
        (
            "s.yaml",
            "topics:\n  orders:\n    partition: 3\n",
            's.yaml:3:5: there is no field "partition" of a topic; did you mean "partitions"?',
        ),
        ("s.yaml", "topics:\n  orders:\n    partitions: many\n", "s.yaml:3:5: partitions is a string, not a number of"),
        ("s.yaml", "topics: {t: {partitions: 0}}", "s.yaml:1:14: partitions is 0, not a number of partitions from 1 on"),
        ("s.yaml", "topics:\n  t: [{key: k}]\n", 's.yaml:2:7: there is no value; a tombstone has "value": null'),
        ("s.yaml", "topics:\n  t: [{value: v, value: w}]\n", 's.yaml:2:8: "value" stands there twice'),
        ("s.yaml", "topics:\n  t:\n  t:\n", 's.yaml:2:3: "t" stands there twice'),
        ("s.yaml", "topics: [t]", "s.yaml:1:1: topics is a list, not an object of topics by their names"),
        ("s.yaml", "", 's.yaml:1:1: null, not an object such as {"topics"'),
        ("s.yaml", "topics: {", "s.yaml:1:10: not YAML (expected the node content, but found '<stream end>')"),
        ("s.yaml", "topics: {t: [!x {value: v}]}", "s.yaml:1:14: the tag !x means nothing here"),
        ("s.yaml", "topics: {t: &a [*a]}", "s.yaml:1:13: this contains itself"),
        ("s.yaml", "topics: {t: [{<<: {value: v}}]}", "write text"),
        ("s.yaml", "topics: {t: [{value: 2026-13-31}]}", "write it in quotes"),
        (
            "s.json",
            '{"topics":\n {"t": {"configs":\n  {"a": 1, "b": []}}}}',
            "s.json:3:17: the setting b is a list; write text, a number, or true or false",
        ),
        (
            "s.json",
            '{"topics": {"t": [{"value": "v"},\n {"value": "v", "timestamp": "soon"}]}}',
            's.json:2:30: timestamp is "soon", not milliseconds since 1970, nor a time such as',
        ),
        ("s.json", "\n", 's.json:2:1: the file is empty; write an object such as {"topics"'),
        ("s.json", '{"topics": {"t": 5}}', "s.json:1:18: the records of t are a number, not a list of records"),
        ("s.json", '{"topics": {}} x', "s.json:1:16: not JSON (extra data at character 16)"),
        ("s.json", '{"tropics": {}}', 's.json:1:13: there is no field "tropics"; did you mean "topics"?'),
        (
            "s.jsonl",
            '{"value": "v"}\n{"value": "v", "headers": [{"key": "h"}]}\n',
            "s.jsonl:2:28: a header has no value; null is a value too",
        ),
        ("s.jsonl", '{"value": "v"}\n{"value": \n', "s.jsonl:2:11: not JSON (expecting value at character 11)"),
        ("s.jsonl", "5\n", 's.jsonl:1:1: a number, not an object such as {"key": "k", "value": "v"}'),
        ("s.jsonl", '{"topic": 5, "value": "v"}\n', "s.jsonl:1:11: topic is a number, not a string"),
        ("s.jsonl", '{"partitions": 3, "value": "v"}\n', 's.jsonl:1:28: there is no field "value" of a topic; there are'),
        ("s.jsonl", '{"partitions": 3}\n{"partitions": 3}\n', "s.jsonl:2:1: topic s is described at"),
        ("s.csv", "key,vlaue\nk,v\n", 's.csv:1, column vlaue: there is no field "vlaue", as the first row names the columns; did you'),
        ("s.csv", "key\nk\n", "s.csv:1: there is no column value; the first row names the columns: topic,key,value"),
        ("s.csv", "key,value,key\n", "s.csv:1: a column stands there twice"),
        ("s.csv", 'key,value\n"a\nb",v\nk\n', "s.csv:4: the row has 1 cells, and there are 2 columns"),
        ("s.csv", 'key,value\nk,"v"w\n', "s.csv:2: not CSV ("),
        ("s.csv", "value,partition\nv,1\nv,one\n", "s.csv:3, column partition: partition is a string, not a partition's"),
        ("s.csv", "value,headers\nv,h\n", "s.csv:2, column headers: headers is not JSON"),
        ("s.csv", "value,headers\nv,5\n", "s.csv:2, column headers: headers is a number, not a list of"),
        ("s.csv", "key_base64,value\n*,v\n", "s.csv:2, column key_base64: key_base64 is not base64"),
        ("s.txt", "v", "s.txt: its name says no form; let it end with one of .yaml, .yml, .json, .jsonl, .ndjson, .csv"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told_with_its_place(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadSeed) as caught:
        read(tmp_path / name)
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))


@pytest.mark.parametrize("form", ["yaml", "json", "jsonl", "csv"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *BUSY], deadline=None, max_examples=60)
@given(
    text=st.lists(
        st.sampled_from(
            [
                "topics",
                "value",
                "key",
                "headers",
                "timestamp",
                "partitions",
                *'{}[]",:-\n &*!#5|>',
                ": ",
                "- ",
                "\n  ",
                "é",
                "\\",
                "\0",
            ]
        )
    ).map("".join)
)
def test_a_text_of_any_shape_is_a_seed_or_told_with_its_place(tmp_path: Path, form: str, text: str) -> None:
    path = tmp_path / f"s.{form}"
    path.write_text(text)
    try:
        seed = read(path)
        told = [f"{each.at}: " for each in [*seed.topics, *seed.records]]
    except BadSeed as error:
        told = [str(error)]
    begins = re.compile(rf"{re.escape(str(path))}((:\d+){{1,2}}(, column .*)?: |: not )", re.DOTALL)
    assert all(map(begins.match, told)), told


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(b"value\n\xff\n")
    with pytest.raises(BadSeed, match=r"s\.csv: byte 6 is not UTF-8; bytes are written as base64 in value_base64"):
        read(tmp_path / "s.csv")


def test_an_object_of_python_says_the_way() -> None:
    with pytest.raises(BadSeed, match=r"^seed\['topics'\]\['t'\]\[0\]\['valu'\]: there is no field"):
        read({"topics": {"t": [{"valu": "v"}]}})
    with pytest.raises(BadSeed, match="value is a object, which JSON does not have; write a string"):
        read({"topics": {"t": [{"value": object()}]}})


def test_a_topic_in_two_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"topics": {"t": {}}}')
    with pytest.raises(BadSeed, match=r"b\.json:1:18: topic t is described at .*a\.json:1:18 already"):
        read(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "s.json")


def test_yaml_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "s.yaml").write_text("topics: {}")
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[yaml\]'"):
        read(tmp_path / "s.yaml")
