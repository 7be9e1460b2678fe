"""The rules of modes, deletions and versions, with the codes of the registry's description."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.registry import deciding
from pykbroker.registry.deciding import Registration
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.schema import Reference, Schema
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import LATEST
from pykbroker.runtime.slices import at_once
from pykbroker.tests.registry.test_state import Log


@pytest.fixture
def log() -> Log:
    made = Log()
    made.register("a", '"x"')
    made.register("a", '"y"')
    made.register("b", '"z"', (Reference("x", "a", 1),))
    return made


def code(act: Callable[[], object]) -> int:
    with pytest.raises(RegistryError) as caught:
        act()
    return caught.value.code


def test_a_deleted_version_is_numbered_on(log: Log) -> None:
    number, changes = deciding.delete_version(log.state, "a", LATEST, permanent=False)
    assert number == 2
    log.add(changes)
    assert [each.version for each in log.state.versions("a")] == [1]
    assert log.register("a", '"y"') == 2
    assert [(each.version, each.deleted) for each in log.state.versions("a", deleted=True)] == [(1, False), (3, False)]


def test_what_is_referred_to_stays(log: Log) -> None:
    assert code(lambda: deciding.delete_version(log.state, "a", 1, permanent=False)) == 42206
    assert code(lambda: deciding.delete_subject(log.state, "a", permanent=False)) == 42206
    log.add(deciding.delete_subject(log.state, "b", permanent=False)[1])
    assert deciding.delete_subject(log.state, "a", permanent=False)[0] == [1, 2]


def test_deletions_come_in_two_steps(log: Log) -> None:
    state = log.state
    assert code(lambda: deciding.delete_subject(state, "c", permanent=False)) == 40401
    assert code(lambda: deciding.delete_subject(state, "b", permanent=True)) == 40405
    assert code(lambda: deciding.delete_version(state, "b", 1, permanent=True)) == 40407
    assert code(lambda: deciding.delete_version(state, "b", 2, permanent=False)) == 40402
    log.add(deciding.delete_subject(state, "b", permanent=False)[1])
    assert code(lambda: deciding.delete_subject(state, "b", permanent=False)) == 40404
    assert code(lambda: deciding.delete_version(state, "b", 1, permanent=False)) == 40406
    numbers, changes = deciding.delete_subject(state, "b", permanent=True)
    log.add(changes)
    assert (numbers, state.has("b", deleted=True)) == ([1], False)


def test_a_deleted_subject_keeps_no_settings(log: Log) -> None:
    log.add(deciding.set_config(log.state, "b", {"compatibilityLevel": "NONE"}))
    log.add(deciding.delete_version(log.state, "b", 1, permanent=False)[1])
    assert log.state.config("b") is None
    assert log.state.config_in_scope("b") == {"compatibilityLevel": "BACKWARD"}


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_nothing_is_written_in_read_only_modes(log: Log, mode: str) -> None:
    log.add(at_once(deciding.set_mode(log.state, None, mode, force=False)))
    asked = Registration("a", Schema('"n"'))
    for act in (
        lambda: deciding.check_may_register(log.state, asked),
        lambda: deciding.delete_subject(log.state, "b", permanent=False),
        lambda: deciding.set_config(log.state, "a", {}),
    ):
        assert code(act) == 42205


def test_import_takes_ids_and_versions(log: Log) -> None:
    assert code(lambda: deciding.check_may_register(log.state, Registration("a", Schema('"n"'), 9))) == 42205
    assert code(lambda: at_once(deciding.set_mode(log.state, "a", "import", force=False))) == 42205
    log.add(at_once(deciding.set_mode(log.state, "d", "import", force=False)))
    assert code(lambda: deciding.check_may_register(log.state, Registration("d", Schema('"n"')))) == 42205
    made, changes = deciding.register(log.state, Registration("d", Schema('"n"'), 90, 5))
    log.add(changes)
    assert (made.id, made.version) == (90, 5)
    assert code(lambda: deciding.register(log.state, Registration("d", Schema('"other"'), 90))) == 42205
    assert log.register("a", '"new"') == 91


@pytest.mark.parametrize(
    "asked",
    [
        Registration("d", Schema('"n"'), 2**31),
        Registration("d", Schema('"n"'), 1, 2**40),
        Registration("d", Schema('"n"'), 1, -9),
    ],
)
def test_numbers_are_those_of_others_registries(log: Log, asked: Registration) -> None:
    log.add(at_once(deciding.set_mode(log.state, "d", "IMPORT", force=False)))
    assert code(lambda: deciding.check_may_register(log.state, asked)) == 42201


def test_a_schema_without_metadata_is_found_and_keeps_those_before() -> None:
    log, metadata = Log(), '{"properties":{"owner":"me"}}'
    first = deciding.completed(log.state, Registration("a", Schema('"x"', metadata=metadata)))
    log.add(deciding.register(log.state, first)[1])
    second = deciding.completed(log.state, Registration("a", Schema('"x"')))
    assert second.schema.metadata == metadata
    found = at_once(deciding.looked_up(log.state, "a", Schema('"x"'), deleted=False))
    assert found is not None
    assert found.version == 1


def test_configurations_add_their_metadata() -> None:
    state = RegistryState()
    log = Log()
    log.state = state
    log.add(
        deciding.set_config(
            state,
            "a",
            {"defaultMetadata": {"properties": {"a": "1", "b": "1"}}, "overrideMetadata": {"properties": {"c": "3"}}},
        )
    )
    asked = deciding.completed(state, Registration("a", Schema('"x"', metadata='{"properties":{"b":"2","c":"2"}}')))
    assert asked.schema.metadata == '{"properties":{"a":"1","b":"2","c":"3"}}'


def test_an_empty_schema_is_the_one_before(log: Log) -> None:
    assert deciding.completed(log.state, Registration("a", Schema(""))).schema.text == '"y"'
    assert code(lambda: deciding.completed(log.state, Registration("new", Schema("")))) == 42201
