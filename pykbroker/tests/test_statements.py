"""Every test states what must hold; none sleeps, and few open sockets."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import pykbroker
from pykbroker.tests.kit.syntax import forget, parsed, walk

ROOT = Path(pykbroker.__file__).parent.parent
#: Unit tests run on a manual clock, or await.
UNIT = ("pykbroker", "wire", "scripts")
#: Tests with programs that are not ours look again and again at what these do.
COMPAT = "compat_tests"
#: Where unit tests sleep. Loops of their own have virtual time, which sleeping passes.
SLEEPERS = {
    "pykbroker/tests/http/metrics/test_process.py": "holds up the loop, which is what it is about",
    "pykbroker/tests/kit/running.py": "waits for all others, until a condition holds",
    "pykbroker/tests/process/many_clients.py": "virtual time",
}
VIRTUAL = "pykbroker/tests/worlds/"
#: Where tests with other programs sleep for a time that is not one between two looks.
COMPAT_SLEEPERS = {
    "compat_tests/kerberos/flows.py": "the lifetime of a session, in Apache Kafka too",
    "compat_tests/lake/test_sender.py": "the time after which librdkafka forgets a broker",
    "compat_tests/published_bugs/aiokafka_worlds.py": "virtual time",
    "compat_tests/published_bugs/faststream_bugs.py": "the interval of auto-commit, and virtual time",
    "compat_tests/security/delegation_flows.py": "the lifetime of a token, in Apache Kafka too",
    "compat_tests/security/session_flows.py": "the lifetime of a session, in Apache Kafka too",
    "compat_tests/testing_faults/restless.py": "virtual time",
    "compat_tests/testing_faults/sides.py": "the time-outs of a session and of a transaction, in Apache Kafka too",
    "compat_tests/testing_faults/test_every_answer.py": "virtual time",
    "compat_tests/worlds/committing.py": "virtual time",
    "compat_tests/worlds/producing.py": "virtual time",
    "compat_tests/worlds/rebalancing.py": "virtual time",
}
#: Rooms whose subject is a process that others connect to, or a client that connects: their tests open sockets.
WITH_SOCKETS = {"cli", "client", "container", "http", "kit", "network", "process", "steered", "testing", "worlds"}
#: What opens one, of modules and of functions.
OPENING_MODULES = {
    "http.server",
    "pykbroker.network.server",
    "pykbroker.process.node",
    "pykbroker.steered.embedded",
    "pykbroker.testing",
    "pykbroker.tests.kit.running",
    "pykbroker.tests.kit.secured",
    "socketserver",
}
OPENING_CALLS = {"create_connection", "create_server", "open_connection", "open_unix_connection", "start_server"}
#: Tests of other rooms that open sockets: what a cluster in memory does not show.
SOCKETS = {
    "pykbroker/tests/brokers/test_cold_reads.py": "requests of others go on while a real disk is read",
    "pykbroker/tests/brokers/test_discarding_made_again.py": "threads of a process, on a real disk",
    "pykbroker/tests/brokers/test_slow_metadata_disk.py": "requests of others go on while a real disk syncs",
    "pykbroker/tests/handlers/test_fetch_connections.py": "connections that end while their fetch waits",
    "pykbroker/tests/lake/values/test_registry.py": "a schema registry, over HTTP",
    "pykbroker/tests/partitions/test_partition_durability.py": "producers on many connections share a sync",
    "pykbroker/tests/quotas/test_request_time.py": "time outside handlers is that of connections",
    "pykbroker/tests/quotas/test_throttling.py": "a throttled connection is not read from",
    "pykbroker/tests/runtime/test_turns.py": "frames are an entrance of the loop",
    "pykbroker/tests/security/test_secrets.py": "all that tells strangers something",
    "pykbroker/tests/seeding/test_loading.py": "seeds of the brokers that tests start",
    "pykbroker/tests/seeding/test_round_trip.py": "seeds of the brokers that tests start",
    "pykbroker/tests/sessions/test_sessions.py": "the traffic of stock clients",
    "pykbroker/tests/registry/test_validation.py": "records are validated in a process with a registry, which a cluster in memory has not",
    "scripts/tests/test_stand_in_nc.py": "a stand-in for a program that connects",
}


@pytest.fixture(scope="module", autouse=True)
def no_trees_afterwards() -> Iterator[None]:
    """These tests are the last that read sources."""
    yield
    in_folder.cache_clear()
    forget()


@dataclass(frozen=True)
class Function:
    """A function of a test's file: whether it states something itself, and the names that it calls."""

    name: str
    states: bool
    calls: frozenset[str]


def functions(tree: ast.AST) -> list[Function]:
    """All functions of a module, those within others and in classes included."""
    found: list[Function] = []
    _look_at(tree, set(), found)
    return found


def _look_at(node: ast.AST, calls: set[str], found: list[Function]) -> bool:
    """Add what a node and all below it call, and the functions there; returns whether something is asserted."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        inner: set[str] = set()
        asserts = _look_below(node, inner, found)
        found.append(Function(node.name, asserts or any(map(is_statement, inner)), frozenset(inner)))
        calls |= inner
        return asserts
    if isinstance(node, ast.Call):
        calls.add(called(node))
    return _look_below(node, calls, found) or isinstance(node, ast.Assert)


def _look_below(node: ast.AST, calls: set[str], found: list[Function]) -> bool:
    asserts = False
    for value in node.__dict__.values():
        if isinstance(value, list):
            for each in value:
                if isinstance(each, ast.AST) and _look_at(each, calls, found):
                    asserts = True
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context) and _look_at(value, calls, found):
            asserts = True
    return asserts


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def is_statement(name: str) -> bool:
    """``pytest.raises`` and ``warns``, and the methods of ``unittest`` and mocks."""
    return name in ("raises", "warns") or name.startswith("assert")


def stating(functions: Iterable[Function]) -> set[str]:
    """The names of those that state something, themselves or by others of them."""
    left = list(functions)
    found: set[str] = set()
    while more := {each.name for each in left if each.states or each.calls & found}:
        found |= more
        left = [each for each in left if each.name not in found]
    return found


def sleeps(tree: ast.AST) -> Iterator[int]:
    """The lines that sleep, but for ``asyncio.sleep(0)``, a turn of the loop."""
    for node in walk(tree):
        if (
            isinstance(node, ast.Call)
            and called(node) == "sleep"
            and [ast.unparse(each) for each in node.args] != ["0"]
        ):
            yield node.lineno


def lone_sleeps(tree: ast.AST) -> Iterator[int]:
    """The lines that sleep outside of loops."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.While | ast.For | ast.AsyncFor):
            if isinstance(node, ast.Call) and called(node) == "sleep":
                yield from sleeps(node)
            else:
                yield from lone_sleeps(node)


def opens_sockets(tree: ast.AST) -> bool:
    for node in walk(tree):
        names: set[str] = set()
        if isinstance(node, ast.Import):
            names = {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{each.name}" for each in node.names)}
        if names & OPENING_MODULES or (isinstance(node, ast.Call) and called(node) in OPENING_CALLS):
            return True
    return False


@cache
def in_folder(folder: str) -> dict[str, ast.Module]:
    """Modules of tests in a folder of the repository, by their paths."""
    paths = [path for path in sorted((ROOT / folder).rglob("*.py")) if not path.is_relative_to(ROOT / "pykbroker/wire")]
    tests = [path for path in paths if "tests" in path.parent.parts or folder == COMPAT]
    return {str(path.relative_to(ROOT)): parsed(path) for path in tests}


def trees(*folders: str) -> dict[str, ast.Module]:
    return {name: tree for folder in folders for name, tree in in_folder(folder).items()}


def test_every_test_states_what_must_hold() -> None:
    """Helpers are known by their names, wherever they are."""
    written = {name: functions(tree) for name, tree in trees(*UNIT, COMPAT).items()}
    helpers = stating(each for functions in written.values() for each in functions if not each.name.startswith("test_"))
    silent = [
        f"{name}:{each.name}"
        for name, functions in written.items()
        for each in functions
        if each.name.startswith("test_")
        and Path(name).name.startswith("test_")
        and not (each.states or each.calls & helpers)
    ]
    assert silent == []


def test_no_unit_test_sleeps() -> None:
    found = {name for name, tree in trees(*UNIT).items() if not name.startswith(VIRTUAL) and [*sleeps(tree)]}
    assert found == SLEEPERS.keys()


def test_tests_with_other_programs_sleep_between_two_looks() -> None:
    assert {name for name, tree in trees(COMPAT).items() if [*lone_sleeps(tree)]} == COMPAT_SLEEPERS.keys()


def test_unit_tests_open_no_socket_where_a_cluster_in_memory_does() -> None:
    found = {
        name
        for name, tree in trees(*UNIT).items()
        if not WITH_SOCKETS & {*Path(name).parts[2:-1]} and opens_sockets(tree)
    }
    assert found == SOCKETS.keys()


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        ("def test_a():\n    ask()", True),
        ("def test_a():\n    with pytest.raises(ValueError):\n        ask()", False),
        ("def helper():\n    assert ask()\ndef other():\n    helper()\ndef test_a():\n    other()", False),
        ("async def test_a(self):\n    self.assertEqual(1, 1)", False),
        ("def test_a():\n    try:\n        ask()\n    except ValueError:\n        return", True),
    ],
)
def test_a_test_that_states_nothing_is_seen(code: str, silent: bool) -> None:
    found = functions(ast.parse(code))
    assert (found[-1].name not in stating(found)) == silent


def test_a_sleep_is_seen() -> None:
    assert [*sleeps(ast.parse("time.sleep(1)\nasyncio.sleep(0)\nawait_it()\nasyncio.sleep(0.1)"))] == [1, 4]


def test_a_sleep_outside_of_loops_is_told_from_one_between_two_looks() -> None:
    code = "def f():\n    time.sleep(1)\n    while not done():\n        time.sleep(1)\n    asyncio.sleep(0)"
    assert [*lone_sleeps(ast.parse(code))] == [2]


@pytest.mark.parametrize(
    ("code", "opens"),
    [
        ("from pykbroker.testing import Kafka", True),
        ("from pykbroker.tests.kit.running import running_broker", True),
        ("await asyncio.open_connection(host, port)", True),
        ("from pykbroker.tests.kit.cluster import MemoryCluster", False),
        ("import socket\nsocket.getaddrinfo", False),
    ],
)
def test_an_open_socket_is_seen(code: str, opens: bool) -> None:
    assert opens_sockets(ast.parse(code)) == opens
