"""A seed is the same run in every process, to the last operation on the disk: one that cannot be repeated is half a test.

Sets of strings have another order where PYTHONHASHSEED is another, and sets of objects in every process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest

from pykbroker.worlds.disk import SimulatedDisk

#: How many seeds of a model are run: enough that what a restart finds half done is among it.
SEEDS = {"log": 10, "compaction": 10, "directories": 10, "readers": 5, "full disk": 32, "housekeeping": 3}


class NoPatch:
    """What a model asks of pytest."""

    text = ""

    def setattr(self, where: Any, name: str, value: Any) -> None:
        setattr(where, name, value)


def models() -> dict[str, Any]:
    """Imported in the process that runs them."""
    from pykbroker.tests.brokers.test_full_disk import test_a_start_on_a_full_disk
    from pykbroker.tests.process.test_housekeeping_model import test_housekeeping
    from pykbroker.tests.storage.compaction.test_compaction_model import test_random_compaction
    from pykbroker.tests.storage.directories.test_model import test_random_directories
    from pykbroker.tests.storage.log.test_model import test_random_work
    from pykbroker.tests.storage.log.test_readers_model import test_random_readers

    return {
        "log": test_random_work,
        "compaction": test_random_compaction,
        "directories": test_random_directories,
        "full disk": test_a_start_on_a_full_disk,
        "housekeeping": lambda seed: test_housekeeping(seed, NoPatch()),
        "readers": lambda seed: test_random_readers(seed, NoPatch()),
    }


@contextmanager
def noting(operations: list[str]) -> Iterator[None]:
    """Have every operation of every disk noted."""
    operation = SimulatedDisk.operation

    def noted(disk: SimulatedDisk, name: str, partly: Any = None) -> None:
        operations.append(name)
        operation(disk, name, partly)

    SimulatedDisk.operation = noted
    yield
    SimulatedDisk.operation = operation


def tell() -> None:
    """What each seed did, as a digest."""
    for model, run in models().items():
        for seed in range(SEEDS[model]):
            operations: list[str] = []
            with noting(operations):
                run(seed)
            digest = sha256("\n".join(operations).encode()).hexdigest()
            sys.stdout.write(f"{model} {seed}: {len(operations)} operations {digest}\n")


def telling(hash_seed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import tell; tell()"],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.deep
def test_a_seed_of_the_store_is_the_same_run_in_every_process() -> None:
    first, second = [process.communicate()[0].splitlines() for process in (telling("1"), telling("2"))]
    assert len(set(first)) == sum(SEEDS.values())
    assert second == first
