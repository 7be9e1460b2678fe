"""What ARCHITECTURE.md says of the modules, and of whose state is whose, is so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pykbroker
from pykbroker.storage.log.state import LogState
from pykbroker.tests.kit.syntax import parsed, walk

ROOT = Path(pykbroker.__file__).parent


def modules() -> dict[str, Path]:
    """Every module that is ours and no test, by its name below pykbroker."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] not in ("tests", "simulation", "wire"):
            found[".".join(parts)] = path
    return found


def imports(path: Path, names: dict[str, Path]) -> set[str]:
    """The modules that one names, at its head, in its functions and for types alike."""
    found = set()
    for node in walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pykbroker."):
            base = node.module.removeprefix("pykbroker.")
            found |= {each for name in node.names if (each := f"{base}.{name.name}") in names} or {base} & names.keys()
    return found


def circles(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Modules that can reach each other (strongly connected components of more than one)."""
    reach = {name: _reachable(graph, name) for name in graph}
    left = set(graph)
    while left:
        name = left.pop()
        circle = {name} | {other for other in reach[name] if name in reach[other]}
        left -= circle
        if len(circle) > 1:
            yield circle


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for name in graph[ahead.pop()] - seen:
            seen.add(name)
            ahead.append(name)
    return seen


def test_every_circle_of_modules_is_named_with_its_reason() -> None:
    names = modules()
    graph = {name: imports(path, names) - {name} for name, path in names.items()}
    text = (ROOT.parent / "ARCHITECTURE.md").read_text().partition("## Circles")[2].partition("\n## ")[0]
    named = {frozenset(re.findall(r"`([\w.]+)`", line)) for line in text.splitlines() if line.startswith("- ")}
    assert {frozenset(circle) for circle in circles(graph)} == named


#: Where the state of a log changes; everybody else asks for the transitions.
OWNERS_OF_A_LOG = {"storage.log.state", "storage.log.log"}
#: Methods by which a list changes, and a log's lists.
LIST_CHANGES = {"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"}
LISTS = {"segments", "snapshots", "unsynced", "flushes"}


def changes_of_a_log(tree: ast.AST) -> Iterator[str]:
    """Where code assigns an attribute of a log, or of what belongs to it, or changes one of its lists in place. What is
    called log, or ends so, is one; a segment's ``log`` is a file.
    """
    for node in walk(tree):
        changed: ast.AST | None = None
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            changed = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LIST_CHANGES:
            changed = node.func.value
            changed = changed if isinstance(changed, ast.Attribute) and changed.attr in LISTS else None
        while isinstance(changed, ast.Attribute | ast.Subscript):
            if _is_a_logs(changed):
                yield ast.unparse(node)
                break
            changed = changed.value


def _is_a_logs(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in LogState.__slots__:
        return False
    name = ast.unparse(node.value)
    return name.endswith("log") and not name.endswith("segment.log")


def test_a_log_changes_by_its_transitions_alone() -> None:
    found = {
        name: changes
        for name, path in {**modules(), **scripts()}.items()
        if name not in OWNERS_OF_A_LOG and (changes := list(changes_of_a_log(parsed(path))))
    }
    assert found == {}


def scripts() -> dict[str, Path]:
    """Their modules, by their paths."""
    folder = ROOT.parent / "scripts"
    return {str(path.relative_to(folder.parent)): path for path in folder.rglob("*.py")}


@pytest.mark.parametrize(
    "code",
    [
        "log.recovery_point = 0",
        "self._log.unsynced += paths",
        "partition.log.log_end_offset, end = found",
        "move.log.snapshots.append(1)",
        "log.producers.end_offset = 7",
        "log.segments[0] = segment",
        "del log.epochs",
    ],
)
def test_a_change_from_outside_is_seen(code: str) -> None:
    assert len(list(changes_of_a_log(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ["segment.log.path = path", "last = log.segments[-1]", "log.roll(now)", "partition.deleted = True"]
)
def test_what_is_no_change_is_not(code: str) -> None:
    assert not list(changes_of_a_log(ast.parse(code)))


#: What a room sets on the objects of another while these are in use, and why; it is no part that an object lacked when it was constructed.
SET_BY_OTHERS = {
    "when_abandoned": "whoever makes a wait says what its abandonment ends; a Deferred is a cell, in the path of each request",
    "waiter": "the fetch that waits in a session, for as long as it waits",
    "sent_high_watermark": "what a fetch session's client was told last, in the path of each fetch",
    "resting": "a copy rests after an error, and its fetcher knows for how long",
    "client_software": "what a client says of itself with its first request",
    "time_spent": "counted for a connection from its first request on, where there is a quota",
    "limit": "a quota that was altered while the process runs",
    "limits": "the same, of connections",
    "min_in_sync": "a setting that was altered while the process runs",
    "settings": "the same: certificates and users of new connections",
    "memory_bytes": "the same: of the next compaction",
    "topics_by_id": "of an image that its maker has to itself",
    # Objects of Python's own library whose attributes have the name of one of ours.
    "context": "of ssl",
    "description": "of argparse",
    "message": "of logging",
}


def attributes(tree: ast.AST, *, of_data: bool) -> Iterator[str]:
    """The attributes that classes have, or set on themselves; of data classes if so wanted, else of all others."""
    for made in walk(tree):
        if isinstance(made, ast.ClassDef) and of_data == any(
            "dataclass" in ast.unparse(d) for d in made.decorator_list
        ):
            for node in ast.walk(made):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    yield node.target.id
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                    yield node.attr


def is_self(node: ast.AST) -> bool:
    """Whether this is the object itself, or its class."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def set_from_outside(tree: ast.AST, foreign: set[str]) -> Iterator[str]:
    """The attributes among ``foreign`` that code sets on what is not itself."""
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del) and not is_self(node.value):
            if node.attr in foreign:
                yield node.attr
        elif isinstance(node, ast.Call) and any(
            isinstance(each, ast.Name) and each.id == "setattr" for each in [node.func, *node.args]
        ):
            yield from (each.value for each in node.args if isinstance(each, ast.Constant) and each.value in foreign)


def room_of(name: str) -> str:
    """The room of a module."""
    return name.partition(".")[0]


@pytest.mark.deep
def test_an_object_is_whole_when_it_is_constructed() -> None:
    """What it has of others it is given then, or by its methods: no room sets attributes of another's objects. Attributes are told
    apart by their names, so those that messages of Kafka's protocol or the room itself have, too, are not looked at.
    """
    of_messages = {
        name
        for path in (ROOT.parent / "wire").rglob("*.py")
        for of_data in (False, True)
        for name in attributes(parsed(path), of_data=of_data)
    }
    theirs: dict[str, set[str]] = {}
    all_of: dict[str, set[str]] = {}
    for name, path in modules().items():
        theirs.setdefault(room_of(name), set()).update(attributes(parsed(path), of_data=False))
        all_of.setdefault(room_of(name), set()).update(theirs[room_of(name)], attributes(parsed(path), of_data=True))
    found: dict[str, set[str]] = {}
    for name, path in modules().items():
        foreign = set().union(*theirs.values()) - all_of[room_of(name)] - of_messages
        for attribute in set_from_outside(parsed(path), foreign):
            found.setdefault(attribute, set()).add(name)
    assert {each: sorted(where) for each, where in found.items() if each not in SET_BY_OTHERS} == {}
    assert SET_BY_OTHERS.keys() <= found.keys(), "what nobody sets needs no reason"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("node.flag = True", ["flag"]),
        ("self._node.flag, other = 1, 2", ["flag"]),
        ("broker.store.flag += 1", ["flag"]),
        ("setattr(node, 'flag', True)", ["flag"]),
        ("call(setattr, node, 'flag', True)", ["flag"]),
        ("self.flag = True", []),
        ("node.other = node.flag", []),
    ],
)
def test_an_attribute_set_from_outside_is_seen(code: str, found: list[str]) -> None:
    assert list(set_from_outside(ast.parse(code), {"flag"})) == found


#: Who has the controller itself in place of its port, to start and end it, and to install what it is given.
HAVE_THE_CONTROLLER = {
    "brokers.cluster",
    "brokers.division",
    "brokers.lifecycle",
    "http.metrics.brokers",
    "process.housekeeping",
    "quotas.throttling",
}


def test_nobody_reads_the_metadata_log_around_the_port() -> None:
    """So DescribeQuorum asks the port, and ApiVersions reads the image that a broker has."""
    names = modules()
    outside = {name: path for name, path in names.items() if not name.startswith(("controller.", "metadata."))}
    logs = {"metadata.local_log", "controller.commits"}
    assert {name for name, path in outside.items() if logs & imports(path, names)} == set()
    read = {name: list(read_of_a_controller(parsed(path))) for name, path in outside.items()}
    assert {name for name, found in read.items() if "log" in found} == set()
    assert {name for name, found in read.items() if "local_controller" in found} == HAVE_THE_CONTROLLER


def read_of_a_controller(tree: ast.AST) -> Iterator[str]:
    """What code reads of what is called a controller, and where it takes the controller itself."""
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and (
            node.attr == "local_controller" or ast.unparse(node.value).endswith("controller")
        ):
            yield node.attr


def test_a_log_read_around_the_port_is_seen() -> None:
    assert list(read_of_a_controller(ast.parse("cluster.local_controller.log.end_offset"))) == [
        "log",
        "local_controller",
    ]
    assert list(read_of_a_controller(ast.parse("broker.log"))) == []


#: Who makes a future of asyncio, and what for.
MAKERS_OF_FUTURES = {
    "process.life": "``awaited``, the one place where a task awaits what the brokers do",
    "testing.waiting": "a condition that is looked at after each turn of the loop",
    "steered.loop": "the start of a thread that has a loop",
    "worlds.brokers": "an event loop of their own, in which futures are made for whoever asks",
    "worlds.loop": "the same",
    "worlds.network": "the same",
}
#: Who looks into the shards of coordinators, and what for; everybody else asks (``CoordinatorRuntime.ask``, ``ask_each``).
LOOK_INTO_SHARDS = {
    "handlers.offset_fetch": "how many offsets there are, by which the answer is divided and nothing else",
    "http.metrics.groups": "counts",
    "http.metrics.transactions": "counts",
    "steered.chaos_means": "whom a disturbance may befall",
}
#: By which methods of the runtime coordinators carry out requests, and what is due (``GroupCoordinator.ask`` is ``ask`` itself). ``run`` is for outcomes that
#: no request has, and ``at`` for those of its requests that are more than a step.
WAYS_OF_THE_RUNTIME = {
    "coordination.groups.coordinator": {"append_encoded", "append_parts", "ask_each", "at", "run"},
    "coordination.share.coordinator": {"append_parts", "ask"},
    "coordination.transactions.coordinator": {"append", "append_parts", "ask", "ask_each", "run"},
}


def called(tree: ast.AST, *ends: str) -> Iterator[str]:
    """The calls whose function ends like one of ``ends``."""
    for node in walk(tree):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)).endswith(ends):
            yield name


def test_a_task_awaits_the_brokers_in_one_place() -> None:
    """So that a cancelled task abandons its wait and the end of a life ends it, everywhere alike."""
    found = {name for name, path in modules().items() if any(called(parsed(path), "create_future", "Future"))}
    assert found == MAKERS_OF_FUTURES.keys()
    awaits = {name for name, path in modules().items() if "awaited" in set(called(parsed(path), "awaited"))}
    assert awaits == {
        "process.joining",
        "process.life",
        "process.node",
        "process.single_brokers",
        "http.metrics.scrape",
    }


def test_coordinators_are_asked_in_one_way() -> None:
    outside = {name: path for name, path in modules().items() if not name.startswith("coordination.")}
    assert {name for name, path in outside.items() if looks_into_shards(parsed(path))} == LOOK_INTO_SHARDS.keys()
    ways = {}
    for name, path in modules().items():
        if name.startswith("coordination."):
            found = {each.rpartition(".")[2] for each in called(parsed(path), *(f"._runtime.{way}" for way in METHODS))}
            if found:
                ways[name] = found
    assert ways == WAYS_OF_THE_RUNTIME


METHODS = ("append", "append_encoded", "append_parts", "ask", "ask_each", "at", "run")


def looks_into_shards(tree: ast.AST) -> bool:
    """Whether code reads what a coordinator's shards have."""
    return any(isinstance(node, ast.Attribute) and node.attr == "shard" for node in walk(tree))


def commits(tree: ast.AST) -> Iterator[str]:
    """Where code writes to the metadata log itself, in place of asking the port."""
    for node in walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("metadata.commit", "commit_now")):
            yield ast.unparse(node)


def test_the_metadata_changes_by_the_port_alone() -> None:
    found = {
        name: calls
        for name, path in modules().items()
        if not name.startswith("controller.") and (calls := list(commits(parsed(path))))
    }
    assert found == {}


def test_a_commit_past_the_port_is_seen() -> None:
    assert list(commits(ast.parse("cluster.metadata.commit([record])")))
    assert not list(commits(ast.parse("cluster.controller.move_leader('t', 0, 1)")))


def test_an_earlier_release_is_known_in_one_place() -> None:
    """What it changes is a value, which ``releases/release.py`` finds by its name: those before 3.9 are frozen."""
    names = modules()
    found = {
        each
        for name, path in names.items()
        if not name.startswith("releases.")
        for each in imports(path, names)
        if each.startswith("releases.")
    }
    assert found == {"releases.release"}


#: Functions may have so many parameters, beside self, and lines.
MOST_PARAMETERS, MOST_LINES = 10, 60


def too_large(tree: ast.AST) -> Iterator[str]:
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = len([each for each in given if each.arg not in ("self", "cls")])
            lines = (node.end_lineno or 0) - node.lineno + 1
            if count > MOST_PARAMETERS or lines > MOST_LINES:
                yield node.name


@pytest.mark.deep
def test_functions_are_short_and_take_what_belongs_together_as_values() -> None:
    """What scripts/wiregen writes is left out."""
    repository = ROOT.parent
    found = set()
    for top in ("pykbroker", "wire", "compat_tests", "scripts"):
        for path in (repository / top).rglob("*.py"):
            if not path.read_text(encoding="utf-8").startswith('"""Generated by scripts/wiregen'):
                found |= {f"{path.relative_to(repository)}:{name}" for name in too_large(parsed(path))}
    assert found == set()


@pytest.mark.parametrize(
    ("code", "large"),
    [
        ("def f(self, a, b, c, d, e, *, f, g, h, i, j): pass", []),
        ("def f(a, b, c, d, e, *, f, g, h, i, j, k): pass", ["f"]),
        ("class C:\n async def g(self):\n" + "  pass\n" * 59, []),
        ("class C:\n async def g(self):\n" + "  pass\n" * 60, ["g"]),
    ],
)
def test_what_is_too_large_is_seen(code: str, large: list[str]) -> None:
    assert list(too_large(ast.parse(code))) == large
