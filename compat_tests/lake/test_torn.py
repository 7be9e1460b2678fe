"""Torn, empty and missing files of the checkpoint and of the ledger, as after a machine that died: the next archive goes on exactly once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.lake.workshop import Workshop
from compat_tests.spark.topics import Topics
from pykbroker.lake.description import Format
from pykbroker.lake.errors import LakeError
from pykbroker.lake.ledger_files import LedgerFiles

LAST = "ledger/000000000002.json"


def tear(file: Path, text: str | None) -> None:
    """Leave only this text of a file, or nothing at all. What it contained at its end never came to the disk, nor its checksum."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)


def three_batches(workshop: Workshop, topics: Topics, topic: str) -> None:
    for _ in range(3):
        for partition in range(2):
            topics.send(topic, range(5), partition)
        workshop.archive(topic)


@pytest.fixture
def archived(make: Callable[..., Workshop], topics: Topics) -> tuple[Workshop, str]:
    """Three batches of two partitions."""
    topic = topics.create(2)
    workshop = make()
    three_batches(workshop, topics, topic)
    return workshop, topic


def test_a_damaged_checkpoint_is_made_anew_from_the_ledger(archived: tuple[Workshop, str], topics: Topics) -> None:
    workshop, topic = archived
    count = 30
    for torn, said in (
        ({"offsets/{}": ""}, "checkpoint/offsets/{} is damaged"),
        ({"offsets/{}": "v1\n{{}}\n{{"}, "checkpoint/offsets/{} is damaged"),
        ({"offsets/{}": None}, "checkpoint/offsets/{} is gone"),
        ({"offsets/{}": 'v1\n{{}}\n{{"other": {{"0": 7}}}}'}, "checkpoint/offsets/{} is of another lake"),
        ({"commits/{}": "v1"}, "checkpoint/commits/{} is damaged"),
        (
            {"metadata": "", "sources/0/0": "v1\n", "commits/{}": ""},
            "checkpoint/metadata is damaged, checkpoint/sources/0/0 is",
        ),
    ):
        last = workshop.lake.last_entry().batch
        for name, text in torn.items():
            file = workshop.path / "checkpoint" / name.format(last)
            file.parent.mkdir(parents=True, exist_ok=True)
            tear(file, None if text is None else text.format()) if file.exists() else file.write_text("v1\n")
        topics.send(topic, range(3), 1)
        count += 3
        assert workshop.archive(topic).rows == 3
        assert said.format(last) in workshop.said.pop()
        assert workshop.lake.last_entry().total_rows == count
    shutil.rmtree(workshop.path / "checkpoint")
    assert workshop.archive(topic).rows == 0
    assert "is gone" in workshop.said.pop()
    assert workshop.offsets(topic) == [*((0, each) for each in range(15)), *((1, each) for each in range(count - 15))]
    assert workshop.verify().is_equal
    workshop.archive(topic)
    assert not workshop.said


def test_a_batch_that_was_being_added_is_there_once(
    make: Callable[..., Workshop], topics: Topics, long_form: Format
) -> None:
    """The table has it or not; neither the ledger nor the checkpoint tells."""
    topic = topics.create(2)
    workshop = make(long_form)
    three_batches(workshop, topics, topic)
    count = 15
    for was_added in (True, False):
        last = workshop.lake.last_entry().batch
        if was_added:
            tear(workshop.path / f"ledger/{last:012d}.json", "")
            tear(workshop.path / f"checkpoint/offsets/{last}", "")
            with pytest.raises(
                LakeError, match=r"is damaged\. If it is the ledger's last entry, the next archive makes it anew"
            ):
                LedgerFiles.on_disk(workshop.path).last_entry()
        else:
            (workshop.path / f"checkpoint/offsets/{last + 1}").write_text("")
        topics.send(topic, range(4))
        count += 4
        assert workshop.archive(topic).rows == 4
        assert "is damaged" in workshop.said.pop()
        assert workshop.offsets(topic) == [*((0, each) for each in range(count)), *((1, each) for each in range(15))]
        entry = workshop.lake.last_entry()
        assert {place.partition: (each.begin, each.until, each.rows) for place, each in entry.partitions.items()} == {
            0: (0, count, count), 1: (0, 15, 15),
        }  # fmt: skip
        assert workshop.verify().is_equal


def test_the_first_batch_may_be_torn_too(make: Callable[..., Workshop], topics: Topics, long_form: Format) -> None:
    """Also where the topic's first records have expired: Spark takes partitions that it does not know for new ones, which begin at 0."""
    for was_added in (True, False):
        topic = topics.create(2)
        topics.send(topic, range(5))
        topics.delete_records(topic, 2)
        workshop = make(long_form)
        if was_added:
            workshop.archive(topic)
            tear(workshop.path / "ledger/000000000000.json", '{"batch": 0')
        else:
            (workshop.path / "checkpoint/offsets").mkdir(parents=True)
            (workshop.path / "checkpoint/offsets/0").write_text("")
        topics.send(topic, range(3), 1)
        assert workshop.archive(topic).rows == (3 if was_added else 6)
        assert len(workshop.said) == 1
        assert workshop.offsets(topic) == [(0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2)]
        assert workshop.verify().is_equal
        shutil.rmtree(workshop.path)


def test_a_ledger_that_was_deleted_is_no_torn_one(archived: tuple[Workshop, str]) -> None:
    workshop, topic = archived
    shutil.rmtree(workshop.path / "ledger")
    with pytest.raises(LakeError, match=r"ledger has no entry of the last batch: it was deleted\. Put it back"):
        workshop.archive(topic)
