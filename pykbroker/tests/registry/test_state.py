"""The state is what the records say, in any history: also of a topic that was compacted meanwhile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.merging import metadata_and_rules
from pykbroker.registry.records import Change, ConfigKey, SchemaKey, Unreadable, decode, encode
from pykbroker.registry.schema import Reference, Schema
from pykbroker.registry.state import RegistryState
from pykbroker.runtime.slices import at_once
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.turns import counted

SUBJECTS = ("a", "b", ":.c:a")


class Log:
    """A state, and the records that made it."""

    def __init__(self) -> None:
        self.state = RegistryState()
        self.records: list[tuple[bytes, bytes | None]] = []

    def add(self, changes: Sequence[Change]) -> None:
        for each in changes:
            record = encode(each)
            self.records.append(record)
            decoded = decode(*record)
            assert decoded is not None
            self.state.replay(decoded)

    def register(self, subject: str, text: str, references: tuple[Reference, ...] = ()) -> int:
        asked = Registration(subject, Schema(text, references=references))
        deciding.check_may_register(self.state, asked)
        found = at_once(deciding.registered(self.state, asked))
        if found is None:
            found, changes = deciding.register(self.state, asked)
            self.add(changes)
        return found.id

    def act(self, act: tuple[str, str, int]) -> None:
        what, subject, number = act
        try:
            match what:
                case "register":
                    self.register(subject, f'"t{number}"')
                case "refer":
                    self.register(subject, f'"r{number}"', (Reference("r", SUBJECTS[number % 3], number),))
                case "delete":
                    self.add(deciding.delete_subject(self.state, subject, permanent=number > 2)[1])
                case "delete version":
                    self.add(deciding.delete_version(self.state, subject, number, permanent=False)[1])
                case "erase version":
                    self.add(deciding.delete_version(self.state, subject, number, permanent=True)[1])
                case "config":
                    self.add(deciding.set_config(self.state, subject, {"compatibilityLevel": "FULL"}))
                case "mode":
                    mode = ("READWRITE", "READONLY", "IMPORT", "READWRITE", "READWRITE")[number]
                    self.add(at_once(deciding.set_mode(self.state, subject, mode, force=False)))
        except RegistryError:
            pass

    def seen(self, state: RegistryState | None = None) -> object:
        state = state or self.state
        names = state.names()
        return (
            names,
            [state.versions(name, deleted=True) for name in names],
            [(state.config(name), state.mode(name)) for name in SUBJECTS],
            [state.referrers(SchemaKey(name, number)) for name in SUBJECTS for number in range(5)],
            [
                [each.subject for each in state.with_id(context, number)]
                for context in (".", ".c")
                for number in range(20)
            ],
            state.contexts(),
        )


ACTS = st.tuples(
    st.sampled_from(["register", "register", "refer", "delete", "delete version", "erase version", "config", "mode"]),
    st.sampled_from(SUBJECTS),
    st.integers(0, 4),
)


@settings(max_examples=examples(100))
@given(st.lists(ACTS, max_size=25))
def test_a_start_and_a_start_after_compaction_see_the_same(acts: list[tuple[str, str, int]]) -> None:
    log = Log()
    for act in acts:
        log.act(act)
        assert log.state.names() == replayed(log.records).names()
    assert log.seen(replayed(log.records)) == log.seen()
    last = {key: number for number, (key, _) in enumerate(log.records)}
    compacted = [record for number, record in enumerate(log.records) if last[record[0]] == number]
    assert log.seen(replayed(compacted)) == log.seen()
    assert log.seen(replayed([each for each in compacted if each[1] is not None])) == log.seen()


@settings(max_examples=examples(50))
@given(st.lists(ACTS, max_size=25))
def test_an_id_is_of_one_content_and_a_content_has_one_id(acts: list[tuple[str, str, int]]) -> None:
    log = Log()
    for act in acts:
        log.act(act)
        for context in (".", ".c"):
            for number in range(1, log.state.next_id(context)):
                there = log.state.with_id(context, number)
                assert len({each.schema for each in there}) <= 1
                assert all(log.state.id_of(context, each.schema) == number for each in there)


def test_the_level_where_none_has_been_set() -> None:
    state = RegistryState("FULL")
    assert (
        state.config_in_scope("s")["compatibilityLevel"] == state.config_in_scope(None)["compatibilityLevel"] == "FULL"
    )
    state.replay((ConfigKey(None), {"compatibilityLevel": "NONE"}))
    assert state.config_in_scope("s")["compatibilityLevel"] == "NONE"
    state.replay((ConfigKey(None), None))
    assert state.config_in_scope("s")["compatibilityLevel"] == "FULL"


def replayed(records: Sequence[tuple[bytes, bytes | None]]) -> RegistryState:
    state = RegistryState()
    for record in records:
        decoded = decode(*record)
        assert decoded is not None
        state.replay(decoded)
    return state


def test_ids_are_counted_by_context_and_shared_by_subjects() -> None:
    log = Log()
    assert [
        log.register("a", '"x"'),
        log.register("b", '"x"'),
        log.register("a", '"y"'),
        log.register(":.c:a", '"y"'),
    ] == [1, 1, 2, 1]


def test_the_id_of_what_is_erased_is_not_given_again() -> None:
    log = Log()
    log.register("a", '"x"')
    log.act(("delete", "a", 0))
    log.act(("delete", "a", 3))
    assert log.state.names() == []
    assert log.register("a", '"y"') == 2


def test_a_subject_of_many_versions_is_deleted_in_steps() -> None:
    log = Log()
    for number in range(1000):
        log.register("a", f'"t{number}"')
    _, (deleted,) = deciding.delete_subject(log.state, "a", permanent=False)
    steps, longest, ended = log.state.replay_in_steps(deleted), 0, False
    while not ended:
        with counted() as lines:
            ended = next(steps, steps) is steps
        longest = max(longest, lines[0])
    assert not log.state.has("a")
    assert 0 < longest < 10_000  # whole it is 86,000


def test_what_many_subjects_share_is_forgotten_at_the_cost_of_one() -> None:
    log = Log()
    for number in range(1000):
        log.register(f"s{number}", '"same"')
    guid = Schema('"same"').guid()
    for subject in range(3):
        with counted() as lines:
            log.state.replay((SchemaKey(f"s{subject}", 1), None))
        assert 0 < lines[0] < 200
        found = log.state.with_guid(guid)
        assert found is not None
        assert found.subject == f"s{subject + 1}"


class Name(str):
    """Counts comparisons."""

    __slots__ = ()
    compared = 0

    def __lt__(self, other: str) -> bool:
        Name.compared += 1
        return super().__lt__(other)


def test_names_are_sorted_once() -> None:
    state = RegistryState()

    def add(number: int) -> None:
        name = Name(f"s{number * 7919 % 3000}")
        state.replay((SchemaKey(name, 1), {"subject": name, "version": 1, "id": 1, "schema": '"int"'}))

    for number in range(2999):
        add(number)
    assert len(state.names()) == 2999
    Name.compared = 0
    add(2999)
    assert state.names() == sorted({f"s{number}" for number in range(3000)})
    state.replay((SchemaKey("s5", 1), None))
    assert "s5" not in state.names()
    assert 0 < Name.compared < 50


KINDS = ("SCHEMA", "CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT", "CONTEXT")
WORDS = (
    *("keytype", "subject", "version", "id", "guid", "schema", "schemaType", "references", "name", "metadata", "ruleSet", "domainRules", "tags"),
    *("deleted", "compatibilityLevel", "alias", "mode", "defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet"),
)  # fmt: skip
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2**70, 1.5, "", "a", ":.c:a", "AVRO", "IMPORT", "\ud800", '"int"']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
KEY = st.fixed_dictionaries({"keytype": st.sampled_from(KINDS)}, optional={"subject": st.just("a") | ANYTHING, "version": st.just(1) | ANYTHING, "context": ANYTHING})  # fmt: skip
VALUE = st.none() | st.dictionaries(st.sampled_from(WORDS), ANYTHING, max_size=3) | st.fixed_dictionaries(
    {"subject": st.sampled_from("ab") | ANYTHING, "version": st.just(1) | ANYTHING, "id": st.just(1) | ANYTHING, "schema": st.just('"int"') | ANYTHING},
    optional={name: ANYTHING for name in WORDS if name not in ("subject", "version", "id", "schema")},
)  # fmt: skip


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(KEY, VALUE), max_size=8))
def test_any_record_is_replayed_or_unreadable(records: list[tuple[Any, Any]]) -> None:
    """Whoever may write to the topic ends nobody's questions."""
    state = RegistryState()
    for key, value in records:
        try:
            change = decode(json.dumps(key).encode(), None if value is None else json.dumps(value).encode())
            if change is not None:
                state.replay(change)
        except Unreadable:
            continue
    for subject in (None, *state.names()):
        config = state.config_in_scope(subject)
        latest = None if subject is None else state.latest(subject)
        metadata_and_rules(config, Schema('"int"'), None if latest is None else latest.schema)
        assert isinstance(config["compatibilityLevel"], str)
        assert state.mode_in_scope(subject)
        for each in state.versions(subject or ""):
            assert each.as_json() == json.loads(each.text())


def test_a_record_whose_value_is_of_another_subject_is_unreadable() -> None:
    """It would be kept under one name, and looked for under the other."""
    state = RegistryState()
    value = {"subject": "b", "version": 1, "id": 1, "schema": '"int"'}
    with pytest.raises(Unreadable):
        state.replay((SchemaKey("a", 1), value))
    assert state.names() == []
