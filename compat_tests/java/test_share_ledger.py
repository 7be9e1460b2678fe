"""At least once under SIGKILL: members of a share group and their brokers are killed under load, or leaders move, and the members' ledger
is judged.

No record is lost, none is delivered beyond the limit, none is with two members within its lock, nothing that was answered is forgotten,
so that no delivery count that was answered falls, and each record that is given up has one letter. ``PYKBROKER_LONG=1`` has a hundred deeds
in place of three.
"""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import LONG
from compat_tests.java.share_ledger import Ledger, Process
from compat_tests.java.share_story import MEMBERS, PARTITIONS, Story

_DEEDS = 100 if LONG else 3


def _judge(story: Story, what: str) -> None:
    print(what, story.ledger.figures())
    assert story.ledger.faults() == []
    assert sum(words[0] == "got" for words in story.ledger.processes[-1].lines()) == PARTITIONS


@pytest.mark.parametrize("mode", ["explicit", "implicit"])
def test_at_least_once(mode: str, tmp_path: Path) -> None:
    chance = random.Random(35)
    with closing(Story(mode, tmp_path)) as story:
        story.writer.start()
        for _ in range(MEMBERS):
            story.members.start()
        for number in range(_DEEDS):
            story.go_on()
            if number % 3 != 1:
                story.kill_the_broker()
            if number % 3 != 0:
                story.kill_a_member(chance)
            if number % 10 == 5:
                story.stop_a_member(chance)
        story.finish()
        _judge(story, mode)


def test_leaders_and_coordinators_move_over_three_brokers(tmp_path: Path) -> None:
    chance = random.Random(36)
    with closing(Story("explicit", tmp_path, brokers=3)) as story:
        story.writer.start()
        for _ in range(MEMBERS):
            story.members.start()
        for number in range(_DEEDS):
            node = number % 3 + 1
            story.go_on()
            story.stop_one(node, abrupt=node == 2)
            story.go_on()
            if node == 3:
                story.kill_a_member(chance)
            story.start_one(node)
        story.go_on()
        story.finish()
        _judge(story, "three brokers")


_GOT = "got {at}000000000 0 0 {count} {verdict}\nsays {says}000000000\n"


@pytest.mark.parametrize(
    ("value", "runs", "letters", "fault"),
    [
        ("good", [(1, _GOT.format(at=2, count=1, verdict="accept", says=3))], 0, ""),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 1, ""),
        ("good", [(1, "got 2000000000 0 0 1 accept\n")], 0, "lost"),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 0, "given up without a letter"),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 2, "more than one letter"),
        ("good", [(1, _GOT.format(at=2, count=5, verdict="accept", says=3))], 0, "delivered beyond the limit"),
        ("good", [(1, _GOT.format(at=n, count=1, verdict="accept", says=5)) for n in (2, 3)], 0, "two had it"),
        ("good", [(1, _GOT.format(at=n, count=1, verdict="accept", says=n)) for n in (2, 3)], 0, ""),
        (
            "good",
            [
                (1, _GOT.format(at=2, count=1, verdict="accept", says=3) + "said 4000000000 0 0 ok\n"),
                (5, _GOT.format(at=6, count=2, verdict="accept", says=7)),
            ],
            0,
            "delivered again",
        ),
    ],
)
def test_the_judgement_finds_each_fault(
    value: str, runs: list[tuple[float, str]], letters: int, fault: str, tmp_path: Path
) -> None:
    ledger = Ledger(lock_s=100, limit=4, produced={(0, 0): (f"{value} 0", 1.0)})
    ledger.letters[0, 0] = letters
    for number, (started, text) in enumerate(runs):
        file = tmp_path / f"member-{number}"
        file.write_text(text)
        ledger.processes.append(Process(file, started))
    found = [line.split(": ")[1] for line in ledger.faults()]
    assert (fault in found) if fault else not found, found
