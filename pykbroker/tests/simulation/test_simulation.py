"""Many seeds, each a cluster of clients and what befalls it.

``SIM_SEEDS`` says how many (5 in a quick run, 100 in a whole one, 1000 with PYKBROKER_LONG), ``SIM_FIRST`` where to begin; they are
told by as many processes as there are cores, four at most. ``python -m pykbroker.tests.simulation SEED`` tells one of them
line by line.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from multiprocessing import get_context
from traceback import format_exc

import pytest

from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.story import Story

FIRST = int(os.environ.get("SIM_FIRST", "1"))
SEEDS = int(os.environ.get("SIM_SEEDS", of_depths(5, 100, 1000)))
WORKERS = min(4, os.cpu_count() or 1)
FEW = 10

#: What must have happened, and how often at least for every hundred seeds, or the stories are too tame.
EXPECTED = {
    "lost request": 300,
    "lost answer": 300,
    "delay": 500,
    "assignment": 300,
    "lost membership": 10,
    "UNKNOWN_MEMBER_ID": 10,
    "FENCED_INSTANCE_ID": 1,
    "UNRELEASED_INSTANCE_ID": 20,
    "fenced producer": 100,
    "transaction committed": 1000,
    "transaction aborted": 200,
    "transaction timed out": 3,
    "unstable offset": 50,
    "processor went back": 2,
    "processor changed its mind": 30,
    "client crash": 50,
    "client stall": 30,
    "server: stop": 5,
    "server: kill": 20,
    "server: killed in a write": 20,
    "server: lose power": 2,
    "server: full disk": 10,
    "replay compared": 20,
    "topic deleted": 5,
    "topic deleted under a transaction that is open": 2,
    "topic deleted under a transaction that ends": 2,
    "topic deleted under a sync": 8,
    "topic deleted before a sync": 3,
    "record of a transaction in a topic that is made again": 60,
    "offsets of a crowd": 1000,
    "transaction of a crowd": 500,
    "offset of a crowd looked at": 5,
    "records deleted": 5,
    "partition added": 10,
    "session closed under a fetch": 100,
    "connection cut under a fetch": 50,
    "contradiction": 100,
    "open transaction trimmed": 50,
    "share delivery": 3000,
    "share delivery again": 500,
    "share record with a letter": 100,
    "share acknowledgement: INVALID_RECORD_STATE": 20,
    "share member fenced": 5,
    "streams assignment": 100,
    "streams member fenced": 3,
}


def told(seed: int) -> Counter[str]:
    """What happened in one story. Raises AssertionError, with all that is to be said, where a rule is broken."""
    story = Story(seed)
    try:
        story.tell()
    except Exception as error:
        hint = f"Seed {seed}, {story.cast}. Its story: python -m pykbroker.tests.simulation {seed}"
        raise AssertionError(f"{hint}\n{format_exc()}") from error
    counts = story.history.counts
    counts.update(story.world.network.seen)
    return counts


def seldom_look_for_garbage() -> None:
    """A story leaves little of it, and to look at all modules each time is a tenth of the work."""
    gc.freeze()
    gc.set_threshold(50_000)


def stories(seeds: range) -> Iterator[Counter[str]]:
    """What happened in each; few are told here, since processes for them would import everything."""
    if len(seeds) < FEW:
        yield from map(told, seeds)
        return
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), seldom_look_for_garbage) as pool:
        yield from pool.map(told, seeds, chunksize=5)


def test_seeds():
    counts: Counter[str] = Counter()
    for happened in stories(range(FIRST, FIRST + SEEDS)):
        counts += happened
    if SEEDS >= 100:
        too_few = {what: counts[what] for what, count in EXPECTED.items() if counts[what] < count * SEEDS // 100}
        assert not too_few


def digest(seed: int, hash_seed: str) -> str:
    told = subprocess.run(
        [sys.executable, "-m", "pykbroker.tests.simulation", str(seed)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
    )
    assert told.stdout.count(b"\n") > 200
    return sha256(told.stdout).hexdigest()


@pytest.mark.deep
def test_the_same_seed_is_the_same_story():
    """In another process, too, where sets have another order."""
    assert digest(5, "1") == digest(5, "2")
    assert digest(5, "1") != digest(6, "1")
