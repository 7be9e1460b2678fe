"""Decides what a request changes: records to append, from the state and the parsed schema. Pure."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

from pykbroker.registry.errors import (
    CONTEXT_NOT_EMPTY,
    INVALID_MODE,
    RegistryError,
    invalid_schema,
    not_permitted,
    reference_exists,
    subject_not_found,
    version_not_found,
)
from pykbroker.registry.merging import metadata_and_rules
from pykbroker.registry.records import (
    Change,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    ModeKey,
    SchemaKey,
    schema_value,
)
from pykbroker.registry.schema import Schema, Version
from pykbroker.registry.state import IMPORT, MODES, READONLY, READONLY_OVERRIDE, READWRITE, RegistryState
from pykbroker.registry.subjects import LATEST, context_of, is_meant

T = TypeVar("T")

#: What is worked out in steps, between which others are served.
Decision = Generator[float, None, T]

#: Versions or subjects of a step.
_IN_A_STEP: Final = 100
#: Ids of other registries are within Java's int.
_HIGHEST_ID: Final = 2**31 - 1


class Registration(NamedTuple):
    """A registration. The id and the version are given in mode IMPORT only, else -1 and 0."""

    subject: str
    schema: Schema
    id: int = -1
    version: int = 0


def completed(state: RegistryState, registration: Registration) -> Registration:
    """A registration with what it leaves out: the schema's text is that of the version before, metadata and rules too, and the configuration
    adds its own. Raises RegistryError.
    """
    if state.mode_in_scope(registration.subject) == IMPORT:
        return registration
    schema, before = registration.schema, state.latest(registration.subject)
    if not schema.text.strip():
        if before is None:
            raise invalid_schema("Empty schema")
        kept = before.schema
        schema = replace(schema, text=kept.text, type=kept.type, references=kept.references)
    found = metadata_and_rules(
        state.config_in_scope(registration.subject), schema, None if before is None else before.schema
    )
    return registration._replace(schema=found)


def check_may_register(state: RegistryState, registration: Registration) -> None:
    """Raises RegistryError if the mode forbids it."""
    mode = state.mode_in_scope(registration.subject)
    _check_writable(state, registration.subject)
    if registration.id >= 0 and mode != IMPORT:
        raise not_permitted(f"Subject {registration.subject} is not in import mode")
    if registration.id < 0 and mode != READWRITE:
        raise not_permitted(f"Subject {registration.subject} is not in read-write mode")
    if registration.id > _HIGHEST_ID or not 0 <= registration.version + 1 <= _HIGHEST_ID:
        raise invalid_schema("an id or a version is out of range")


def registered(state: RegistryState, registration: Registration) -> Decision[Version | None]:
    """The version that has the schema of a registration already, under the same subject."""
    if registration.version:
        return None
    number = state.id_of(context_of(registration.subject), registration.schema)
    if number is None or registration.id not in (-1, number):
        return None
    return (yield from _same(state.versions(registration.subject), registration.schema))


def looked_up(state: RegistryState, subject: str, schema: Schema, *, deleted: bool) -> Decision[Version | None]:
    """The version of a subject with this content. A schema that is asked for without metadata and rules has those of any version."""
    return _same(state.versions(subject, deleted=deleted), schema)


def _same(versions: list[Version], schema: Schema) -> Decision[Version | None]:
    newest = versions[::-1]
    for number, each in enumerate(newest, 1):
        if each.schema == schema:
            return each
        if not number % _IN_A_STEP:
            yield _IN_A_STEP
    if schema.metadata is None and schema.rule_set is None:
        for number, each in enumerate(newest, 1):
            if replace(each.schema, metadata=None, rule_set=None) == schema:
                return each
            if not number % _IN_A_STEP:
                yield _IN_A_STEP
    return None


def register(state: RegistryState, registration: Registration) -> tuple[Version, list[Change]]:
    """The new version, and its records. Compatibility has been checked. Raises RegistryError."""
    subject, context = registration.subject, context_of(registration.subject)
    versions = state.versions(subject, deleted=True)
    next_version = 1 + max((each.version for each in versions), default=0)
    is_import = state.mode_in_scope(subject) == IMPORT
    version = next_version if registration.version <= 0 else registration.version
    if version != next_version and not is_import:
        raise invalid_schema("Version is not one more than previous version")
    number = _id(state, registration, context)
    made = Version(subject, version, number, registration.schema, registration.schema.guid())
    changes: list[Change] = []
    if not state.has_context(context):
        changes.append((ContextKey(context), {"tenant": "default", "context": context}))
    again = [each for each in versions if each.deleted and each.id == number and each.version < version]
    changes += [(SchemaKey(subject, each.version), None) for each in again]
    changes.append((SchemaKey(subject, version), schema_value(made)))
    return made, changes


def _id(state: RegistryState, registration: Registration, context: str) -> int:
    known = state.id_of(context, registration.schema)
    if registration.id < 0:
        return state.next_id(context) if known is None else known
    if any(each.schema != registration.schema for each in state.with_id(context, registration.id)):
        raise not_permitted(f"Overwrite new schema with id {registration.id} is not permitted.")
    return registration.id


def delete_version(state: RegistryState, subject: str, version: int, *, permanent: bool) -> tuple[int, list[Change]]:
    """The number of the deleted version, and the records. Raises RegistryError."""
    _check_writable(state, subject)
    if not state.has(subject, deleted=True):
        raise subject_not_found(subject)
    found = state.version(subject, version, deleted=permanent)
    if found is None and version != LATEST and state.version(subject, version, deleted=True) is not None:
        raise RegistryError(
            40406, f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
        )
    if found is None:
        raise version_not_found(version)
    key = SchemaKey(subject, found.version)
    _check_unreferenced(state, key)
    if permanent:
        if not found.deleted:
            raise RegistryError(
                40407,
                f"Subject '{subject}' Version {found.version} was not deleted first before being permanently deleted",
            )
        return found.version, [(key, None)]
    changes: list[Change] = [(key, schema_value(found.soft_deleted()))]
    if len(state.versions(subject)) == 1:
        changes += _without_settings(state, subject)
    return found.version, changes


def delete_subject(state: RegistryState, subject: str, *, permanent: bool) -> tuple[list[int], list[Change]]:
    """The numbers of the deleted versions, and the records. Raises RegistryError."""
    _check_writable(state, subject)
    if not state.has(subject, deleted=True):
        raise subject_not_found(subject)
    if not permanent and not state.has(subject):
        raise RegistryError(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")
    versions = state.versions(subject, deleted=permanent)
    for each in versions:
        _check_unreferenced(state, SchemaKey(subject, each.version))
    if permanent and any(not each.deleted for each in versions):
        raise RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")
    numbers = [each.version for each in versions]
    if permanent:
        return numbers, [(SchemaKey(subject, each), None) for each in numbers]
    deleted: Change = (DeleteSubjectKey(subject), {"subject": subject, "version": numbers[-1]})
    return numbers, [deleted, *_without_settings(state, subject)]


def set_config(state: RegistryState, subject: str | None, config: dict[str, Any]) -> list[Change]:
    """The records. Fields that are not said stay; null removes one. Raises RegistryError."""
    _check_writable(state, subject)
    before = state.config(subject) or {}
    merged = {name: value for name, value in {**before, **config}.items() if value is not None and name != "subject"}
    return [(ConfigKey(subject), {"subject": subject, **merged})]


def delete_config(state: RegistryState, subject: str | None) -> tuple[dict[str, Any], list[Change]]:
    """The former configuration, and the records. Raises RegistryError."""
    _check_writable(state, subject)
    found = state.config(subject)
    if found is None:
        raise subject_not_found(subject or "")
    return found, [(ConfigKey(subject), None)]


def set_mode(state: RegistryState, subject: str | None, mode: str, *, force: bool) -> Decision[list[Change]]:
    """The records. IMPORT is for subjects without versions, unless it is forced. Raises RegistryError."""
    wanted = mode.upper()
    if wanted not in MODES:
        raise RegistryError(
            INVALID_MODE, "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, and IMPORT"
        )
    changes: list[Change] = []
    if wanted == IMPORT and state.mode_in_scope(subject) != IMPORT and not force:
        for number, name in enumerate(state.names()):
            if number % _IN_A_STEP == _IN_A_STEP - 1:
                yield _IN_A_STEP
            if not is_meant(name, subject):
                continue
            if state.has(name):
                raise not_permitted("Cannot import since found existing subjects")
            for each in state.versions(name, deleted=True):
                _check_unreferenced(state, SchemaKey(name, each.version))
                changes.append((SchemaKey(name, each.version), None))
        changes.append((ClearSubjectKey(subject), {"subject": subject}))
    return [*changes, (ModeKey(subject), {"subject": subject, "mode": wanted})]


def delete_mode(state: RegistryState, subject: str | None) -> tuple[str, list[Change]]:
    """The former mode, and the records. Raises RegistryError."""
    found = state.mode(subject)
    if found is None:
        raise subject_not_found(subject or "")
    return found, [(ModeKey(subject), None)]


def delete_context(state: RegistryState, context: str) -> Decision[list[Change]]:
    """The records. Raises RegistryError."""
    for number, subject in enumerate(state.names(), 1):
        if context_of(subject) == context:
            raise RegistryError(CONTEXT_NOT_EMPTY, f"The specified context '{context}' is not empty.")
        if not number % _IN_A_STEP:
            yield _IN_A_STEP
    return [(ContextKey(context), None)]


def _without_settings(state: RegistryState, subject: str) -> list[Change]:
    """A deleted subject keeps no settings of its own."""
    changes: list[Change] = []
    if state.own_mode(subject) is not None:
        changes.append((ModeKey(subject), None))
    if state.config(subject) is not None:
        changes.append((ConfigKey(subject), None))
    return changes


def _check_writable(state: RegistryState, subject: str | None) -> None:
    if state.mode_in_scope(subject) in (READONLY, READONLY_OVERRIDE):
        raise not_permitted(f"{'The registry' if subject is None else f'Subject {subject}'} is in read-only mode")


def _check_unreferenced(state: RegistryState, key: SchemaKey) -> None:
    if state.is_referred_to(key):
        raise reference_exists(*key)
