"""Where a test is found: the tests mirror the tree.

``pykbroker/<room>/x.py`` is tested in ``tests/<room>/test_x.py``, and what is too much for one file in ``test_x_<aspect>.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent

#: Names of tests of a whole room, by how they look at it.
KINDS = {
    "crash": "ended at each of its operations on the disk",
    "crowds": "so much that one batch, or one turn of the loop, is not enough for it",
    "every": "every event in every state, every operation of the disk, every setting",
    "failures": "what the disk refuses",
    "faults": "what the disk or the replicas refuse",
    "large": "one group of very many members",
    "model": "any order of operations, against a model",
    "properties": "any order of events: what always holds",
    "scenarios": "from the beginning to the end, with a restart between any two steps",
}

#: What has another name, and why.
OTHERS = {
    "access/test_denied.py": "all APIs of all releases, under all faults",
    "brokers/test_cold_reads.py": "all requests that read, from the socket to the disk",
    "brokers/test_full_disk.py": "a start on what compaction left",
    "brokers/test_slow_metadata_disk.py": "all requests that change the metadata, and those that do not",
    "cli/test_hostile.py": "all commands",
    "cli/test_pages.py": "all commands",
    "container/tools/test_hostile.py": "all of Kafka's commands",
    "coordination/groups/assignors/test_assignors.py": "all assignors",
    "handlers/test_added_api.py": "what an API takes, from its module to its rights",
    "handlers/test_delegation_tokens.py": "all APIs of delegation tokens",
    "handlers/test_hostile_batches.py": "everything that reads a stranger's records",
    "handlers/test_longest_turn.py": "every API with as many things as a frame holds",
    "handlers/test_security.py": "all APIs that have little to say without an authorizer",
    "http/test_access.py": "all routes",
    "http/test_hostile.py": "all routes",
    "http/test_smuggling.py": "all routes",
    "lake/test_absent_packages.py": "all tests of the lake",
    "security/test_secrets.py": "all places where something of a secret could be told",
    "seeding/test_round_trip.py": "what is written, read and put back, in every form",
    "sessions/test_sessions.py": "recording, playing and comparing, with stock clients",
    "share_partitions/test_mutations.py": "the models of share partitions, with single rules off",
    "simulation/test_coordination.py": "small worlds of coordinators, and stories without one of their rules",
    "simulation/test_members.py": "small worlds of members of a group",
    "simulation/test_producing.py": "small worlds of idempotent producers",
    "simulation/test_reassigning.py": "small worlds of reassignments",
    "simulation/test_rules_of_units.py": "rules that no small world notices, each switched off under its unit test",
    "simulation/test_sharing.py": "stories without one of the rules of share groups",
    "simulation/test_simulation.py": "all of the simulation",
    "storage/compaction/test_compacted_gaps.py": "recovery of what compaction wrote",
    "storage/compaction/test_room.py": "compaction and producers on one disk",
    "storage/directories/test_made_again.py": "all that is kept by a topic's name",
    "storage/log/test_high_watermark.py": "all that must stop at it",
    "storage/log/test_preallocate.py": "one setting, in all that makes or cuts a file",
    "storage/log/test_readers_model.py": "readers in threads, under all that changes names",
    "storage/log/test_topic_settings.py": "all settings of topics",
    "storage/test_repeatable.py": "all models of the store",
    "test_architecture.py": "all modules",
    "test_docstrings.py": "all docstrings",
    "test_examples.py": "all property tests",
    "test_late_imports.py": "all modules",
    "test_mirror.py": "all tests",
    "test_names.py": "names of the whole project",
    "test_request_costs.py": "the way of a request from the socket to the disk and back",
    "test_platforms.py": "systems on which nothing else can be imported",
    "test_statements.py": "all tests",
    "testing/test_endings.py": "all that makes brokers for tests",
    "testing/test_together.py": "clock, faults, reset and snapshots, met with each other",
    "testing/test_plugin.py": "pytest_plugin.py, in runs of pytest of its own",
}


def files() -> Iterator[str]:
    return (str(path.relative_to(TESTS)) for path in sorted(TESTS.rglob("test_*.py")))


def is_found(test: str) -> bool:
    """Whether its name says what it is about."""
    path = Path(test)
    words = path.stem.removeprefix("test_").split("_")
    beginnings = ["_".join(words[: count + 1]) for count in range(len(words))]
    room = ROOT / path.parent
    return words[0] in KINDS or any((room / f"{name}.py").exists() or (room / name).is_dir() for name in beginnings)


def test_a_test_is_found_by_the_name_of_its_module() -> None:
    """Name it after the module that it tests, or say in OTHERS why not."""
    assert {test for test in files() if not is_found(test)} == OTHERS.keys()


def test_every_kind_is_in_use() -> None:
    assert KINDS.keys() <= {Path(test).stem.removeprefix("test_").split("_")[0] for test in files()}
