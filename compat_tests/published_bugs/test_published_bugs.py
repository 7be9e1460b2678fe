"""Each bug is found in the release before its fix, and not in the one with it. Both are installed into folders of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.conftest import takes_long
from scripts.jars import ROOT

CLIENTS = ROOT / "build" / "clients"
#: What aiokafka needs beside itself, until 0.9, and FastStream.
_FASTSTREAM = ("fast-depends==2.4.12", "pydantic==2.8.2", "pydantic-core==2.20.1", "aiokafka==0.11.0")
BESIDE = {
    "aiokafka==0.7.2": ("kafka-python==2.0.2",),
    "aiokafka==0.8.0": ("kafka-python==2.0.2",),
    "faststream==0.5.17": _FASTSTREAM,
    "faststream==0.5.18": _FASTSTREAM,
    "faststream==0.6.2": ("fast-depends==3.0.0",),
    "faststream==0.6.3": ("fast-depends==3.0.0",),
}


class PublishedBug(NamedTuple):
    """A bug of a module's BUGS, and the releases before and with its fix."""

    module: str
    name: str
    before: str
    fixed: str


BUGS = [
    PublishedBug("aiokafka_worlds", "solitary_abort", "aiokafka==0.7.2", "aiokafka==0.8.0"),
    PublishedBug("aiokafka_worlds", "fetcher_ends", "aiokafka==0.10.0", "aiokafka==0.11.0"),
    PublishedBug("aiokafka_worlds", "coordinator_moves", "aiokafka==0.12.0", "aiokafka==0.13.0"),
    PublishedBug("with_faults", "positions_forgotten", "kafka-python==2.2.8", "kafka-python==2.2.9"),
    PublishedBug("with_faults", "read_while_validated", "confluent-kafka==2.1.0", "confluent-kafka==2.1.1"),
    PublishedBug("with_faults", "validation_for_ever", "confluent-kafka==2.2.0", "confluent-kafka==2.3.0"),
    PublishedBug("with_faults", "resumed_without_a_pause", "confluent-kafka==2.3.0", "confluent-kafka==2.4.0"),
    PublishedBug("faststream_bugs", "refused_is_acknowledged", "faststream==0.5.17", "faststream==0.5.18"),
    PublishedBug(
        "faststream_bugs", "refused_is_acknowledged_by_librdkafka", "faststream==0.5.17", "faststream==0.5.18"
    ),
    PublishedBug("faststream_bugs", "committed_while_worked_on", "faststream==0.6.2", "faststream==0.6.3"),
]


def installed(requirement: str) -> str:
    """The folder of a release, installed by pip if it is not there."""
    folder = CLIENTS / requirement
    if not folder.exists():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), requirement]
        subprocess.run(words, check=True)
    return str(folder)


def found(bug: PublishedBug, requirement: str) -> str | None:
    """How the bug shows in a release."""
    path = [installed(each) for each in (requirement, *BESIDE.get(requirement, ()))]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"compat_tests.published_bugs.{bug.module}", bug.name],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]), "PYTHONHASHSEED": "5"},
    )  # fmt: skip
    reported = json.loads(done.stdout.splitlines()[-1])
    assert reported["release"] == requirement.partition("==")[2]
    way: str | None = reported["found"]
    return way


@takes_long
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_it_is_found_before_its_fix(bug: PublishedBug) -> None:
    assert found(bug, bug.before) is not None
    assert found(bug, bug.fixed) is None


@takes_long
@pytest.mark.parametrize(("policy", "status"), [("NACK_ON_ERROR", 0), ("ACK_FIRST", 1)])
def test_the_recipe_for_faststream(tmp_path: Path, policy: str, status: int) -> None:
    """As it stands, and with the policy by which it loses an order, as docs/worlds.md says."""
    text = (ROOT / "docs" / "recipes" / "test_faststream.py").read_text().replace("NACK_ON_ERROR", policy)
    (tmp_path / "test_faststream.py").write_text(text)
    path = [installed(each) for each in ("faststream==0.6.3", *BESIDE["faststream==0.6.3"])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]), "PYTEST_ADDOPTS": ""},
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    assert ("lost: " in done.stdout) == bool(status)
