"""Keys of issuers in a file and at an address: when they are read again, and what happens where they cannot be."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.security.sasl.key_sets import Keys, KeySet, RemoteKeySet
from pykbroker.security.sasl.signed_tokens import KeySetError, parse_key_set
from pykbroker.tests.kit.tokens import issuer, key_set

FIRST, SECOND = parse_key_set(key_set(issuer())), parse_key_set(key_set(issuer(), issuer("second")))


class Address:
    """What is there, and how often it was asked."""

    def __init__(self) -> None:
        self.keys: Keys | None = FIRST
        self.asked = 0

    def fetch(self) -> Keys:
        self.asked += 1
        if self.keys is None:
            raise KeySetError("nobody is there")
        return self.keys


class World:
    def __init__(self) -> None:
        self.address = Address()
        self.clock = ManualClock()
        self.runtime = Runtime(self.clock, random.Random(1))
        self.keys = RemoteKeySet(self.address.fetch, 3_600_000, 100, 1000)
        self.keys.follow(self.runtime)

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        self.runtime.timers.run_due()

    def knows(self, kid: str) -> bool:
        return self.keys.find(kid, "RS256") is not None


def test_a_file_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(key_set(issuer()))
    keys = KeySet(path)
    assert keys.find("second", "RS256") is None
    path.write_text(key_set(issuer("second")))
    os.utime(path, ns=(1, 1))
    assert keys.find("second", "RS256") is not None
    assert keys.find("first", "RS256") is None
    for spoil in (lambda: path.write_text("{"), path.unlink):
        spoil()
        assert keys.find("second", "RS256") is not None


def test_a_broken_file_is_read_and_logged_once(tmp_path: Path, caplog: Any, monkeypatch: Any) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(key_set(issuer()))
    keys = KeySet(path)
    reads = []
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: reads.append(self) or read(self))
    for spoil, wrong in ((lambda: path.write_text("{"), "not a key set"), (path.unlink, "No such file")):
        spoil()
        caplog.clear()
        for _ in range(3):
            assert keys.find("first", "RS256") is not None
        assert [wrong in message for message in caplog.messages] == [True]
    assert len(reads) == 1
    path.write_text(key_set(issuer("second")))
    assert keys.find("second", "RS256") is not None
    path.unlink()
    caplog.clear()
    keys.find("second", "RS256")
    assert len(caplog.messages) == 1, "what went wrong before was mended"


def test_an_address_is_asked_again_from_time_to_time() -> None:
    world = World()
    world.address.keys = parse_key_set(key_set(issuer("second")))
    world.advance(3_599_999)
    assert world.knows("first")
    world.advance(1)
    assert not world.knows("first")
    world.advance(3_600_000)
    assert world.address.asked == 4  # at the start, twice in time, and once for a key that is gone


def test_a_key_that_is_not_known_is_there_at_the_next_try() -> None:
    world = World()
    world.address.keys = SECOND
    assert not world.knows("second")
    assert world.knows("second")
    assert world.address.asked == 2


def test_a_key_that_stays_unknown_is_asked_for_once_a_minute() -> None:
    world = World()
    for _ in range(3):
        assert not world.knows("second")
    assert world.address.asked == 2
    world.advance(60_000)
    assert not world.knows("second")
    assert world.address.asked == 3
    assert not world.knows("x" * 1001)
    assert world.keys.find(None, "RS256") is not None
    assert world.address.asked == 3


def test_names_that_are_remembered_are_few() -> None:
    world = World()
    for number in range(100):
        world.knows(f"unknown {number}")
    assert len(world.keys._missing) == 16


def test_keys_stay_while_nobody_answers_and_he_is_asked_ever_more_rarely() -> None:
    world = World()
    world.address.keys = None
    world.advance(3_600_000)
    for delay_ms in (100, 200, 400, 800, 1000, 1000):
        before = world.address.asked
        world.advance(delay_ms - 5)
        assert world.address.asked == before
        world.advance(10)
        assert world.address.asked == before + 1
    assert world.knows("first")
    world.address.keys = SECOND
    world.advance(1000)
    assert world.knows("second")


def test_a_failure_of_our_own_does_not_end_the_asking() -> None:
    world = World()
    offload = world.runtime.offload_read

    def no_thread(function, *args):
        raise RuntimeError("can't start new thread")

    world.runtime.offload_read = no_thread
    world.advance(3_600_000)
    world.runtime.offload_read = offload
    world.address.keys = SECOND
    world.advance(1000)
    assert world.knows("second")


def test_one_answer_is_waited_for_at_a_time() -> None:
    from pykbroker.runtime.waits import Deferred

    world = World()
    waiting: list[Deferred[Keys]] = []

    def offload(function, *args):
        waiting.append(Deferred())
        return waiting[-1]

    world.runtime.offload_read = offload
    for number in range(5):
        world.knows(f"unknown {number}")
    assert len(waiting) == 1
    waiting[0].complete(SECOND)
    assert world.knows("second")
