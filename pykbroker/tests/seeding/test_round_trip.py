"""What a cluster has is written down, put into another, and is the same there: in every form."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pykbroker.seeding.reading import read, read_bytes
from pykbroker.seeding.seed import At, Seed, SeedRecord, SeedTopic
from pykbroker.seeding.writing import document, write
from pykbroker.seeding.writing import text as text_of
from pykbroker.testing import Kafka
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.properties import BUSY

FORMS = ("seed.yaml", "seed.json", "seed.jsonl", "folder of jsonl", "folder of csv")


class Nowhere:
    def place(self, path: object) -> str:
        return "nowhere"


AT = At(Nowhere(), ())

blobs = st.none() | st.binary(max_size=12) | st.text("aé\u4e2d \n\\\"'", max_size=8).map(str.encode) | st.sampled_from(
    [b"", b"null", b"007", b"yes", b"\\N", b'"', b"a,b", b"a\nb", b"a\r\nb", b"\r", b"\0", b"- x", b"{}", b"1e3", "\u2028\ufeff".encode()]
)  # fmt: skip
header_names = st.binary(max_size=6).map(lambda name: name.decode("utf-8", "surrogateescape")) | st.text(
    "aé\u4e2d \n\\\"'", max_size=6
)


@st.composite
def seeds(draw: st.DrawFn) -> Seed:
    seed = Seed()
    for name in draw(st.lists(st.sampled_from(["orders", "a.b-c_D", "topics", "1", "null"]), unique=True, min_size=1)):
        count = draw(st.integers(1, 3))
        configs = draw(
            st.dictionaries(
                st.sampled_from(["retention.ms", "segment.bytes", "max.message.bytes"]),
                st.sampled_from(["1048576", "2000000"]),
            )
        )
        seed.topics.append(SeedTopic(name, AT, count, configs=configs))
        for partition in range(count):
            seed.records += [
                SeedRecord(
                    *(name, AT, draw(blobs), draw(blobs)),
                    headers=draw(st.lists(st.tuples(header_names, blobs), max_size=3)),
                    partition=partition,
                    timestamp=draw(st.integers(0, 1_750_000_000_000)),
                )
                for _ in range(draw(st.integers(0, 3)))
            ]
    return seed


def said(seed: Seed) -> object:
    topics = sorted((each.name, each.partitions, each.replication_factor, each.configs) for each in seed.topics)
    records = [
        (each.topic, each.partition, each.timestamp, each.key, each.value, each.headers) for each in seed.records
    ]
    return topics, sorted(records, key=lambda each: each[:2])


def way(folder: Path, form: str) -> tuple[Path, str]:
    kind = form.rpartition(" ")[2]
    return (folder / str(next(_names)), kind) if form.startswith("folder") else (folder / form, "jsonl")


_names = itertools.count()


@pytest.mark.parametrize("form", FORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *BUSY], deadline=None, max_examples=examples(50))
@given(seed=seeds())
def test_what_is_written_can_be_read(tmp_path: Path, form: str, seed: Seed) -> None:
    path, kind = way(tmp_path, form)
    write(seed, path, kind)
    assert said(read(path)) == said(seed)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *BUSY], deadline=None, max_examples=50)
@given(seed=seeds())
def test_a_csv_has_the_records(tmp_path: Path, seed: Seed) -> None:
    write(seed, tmp_path / "all.csv")
    assert said(read(tmp_path / "all.csv"))[1] == said(seed)[1]


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Kafka, Kafka]]:
    with Kafka() as here, Kafka() as there:
        yield here, there


@pytest.mark.parametrize("form", FORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *BUSY], deadline=None, max_examples=10)
@given(seed=seeds())
@pytest.mark.deep(but=2)
def test_what_is_exported_is_the_same_in_another_broker(
    tmp_path: Path, two: tuple[Kafka, Kafka], form: str, seed: Seed
) -> None:
    here, there = two
    here.reset()
    there.reset()
    here.seed(document(seed))
    path, kind = way(tmp_path, form)
    here.export(path, form=kind)
    there.seed(path)
    assert said(read(path)) == said(seed)
    assert here.topics() == there.topics()
    for topic in here.topics():
        assert here.records(topic) == there.records(topic)


_RUN = ("=1+1", "@SUM(1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", " =1", "\uff1d1+1", 'a;=HYPERLINK("x")', "a\n=cmd|x!A")
_PLAIN = ("-5", "+1.5e3", "a=b", "a;b", "- x"[2:], "a\n- b", '{"a": -5}', "=".join("ab"))


@pytest.mark.parametrize("text", [*_RUN, *_PLAIN])
def test_no_cell_is_a_formula_of_a_spreadsheet(text: str) -> None:
    record = SeedRecord("t", AT, text.encode(), text.encode(), [("h", text.encode())], 0, 1)
    written = text_of(Seed(records=[record]), ".csv")
    header, row = csv.reader(io.StringIO(written, newline=""))
    cells = dict(zip(header, row, strict=True))
    assert cells["headers"].startswith("[")
    for name in ("key", "value"):
        assert (cells[name] == "") is (text in _RUN)
        assert not cells[f"{name}_base64"].startswith(("=", "@", "-"))
    (again,) = read_bytes(written.encode(), ".csv", "again", None).records
    assert (again.key, again.value) == (text.encode(), text.encode())
