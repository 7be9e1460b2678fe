"""What the registry knows: the records of ``_schemas``, replayed in their order. Pure; only ``replay`` changes it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Final

from pykbroker.registry.records import (
    Change,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    ModeKey,
    SchemaKey,
    Unreadable,
    config_of,
    version_of,
)
from pykbroker.registry.schema import Schema, Version
from pykbroker.registry.subjects import DEFAULT_CONTEXT, LATEST, context_of, is_meant, qualified, split

READWRITE: Final = "READWRITE"
READONLY: Final = "READONLY"
READONLY_OVERRIDE: Final = "READONLY_OVERRIDE"
IMPORT: Final = "IMPORT"
MODES: Final = (READWRITE, READONLY, READONLY_OVERRIDE, IMPORT)
#: Of a subject that is deleted or cleared.
_VERSIONS_IN_A_STEP: Final = 100
#: What new schemas are compared by where nothing has been set.
DEFAULT_COMPATIBILITY: Final = "BACKWARD"


class RegistryState:
    """See the module. Subjects are named in their normal form."""

    def __init__(self, compatibility: str = DEFAULT_COMPATIBILITY) -> None:
        self._default = {"compatibilityLevel": compatibility}
        self._subjects: dict[str, dict[int, Version]] = {}
        #: Their names in order, once they were asked for: to sort them each time would take long.
        self._names: list[str] | None = None
        #: The newest version of subjects that were asked for it, until they change.
        self._latest: dict[str, Version] = {}
        #: By context and id, where a schema is registered, in the order of the registrations.
        self._places: dict[tuple[str, int], dict[SchemaKey, None]] = {}
        #: By context and content, the id.
        self._ids: dict[tuple[str, Schema], int] = {}
        self._guids: dict[str, SchemaKey] = {}
        self._highest: dict[str, int] = {}
        self._configs: dict[str | None, dict[str, Any]] = {}
        self._modes: dict[str | None, str] = {}
        self._contexts: dict[str, bool] = {}
        #: Which versions refer to a version.
        self._referrers: dict[SchemaKey, dict[SchemaKey, None]] = {}

    # ---- replay --------------------------------------------------------------------------------------------------------

    def replay(self, change: Change) -> None:
        """Apply one record. Raises Unreadable for a value that is not understood, and then changes nothing."""
        for _ in self.replay_in_steps(change):
            pass

    def replay_in_steps(self, change: Change) -> Iterator[None]:
        """The same, with others served in between who do not read the state: a subject may have thousands of versions."""
        key, value = change
        match key:
            case SchemaKey():
                if value is None:
                    self._forget(key)
                else:
                    found = version_of(value)
                    if (found.subject, found.version) != key:
                        raise Unreadable("its value is of another subject or version than its key")
                    if self._is_of_another(key, found):
                        raise Unreadable(f"the id {found.id} is of another schema")
                    self._put(key, found)
            case ConfigKey(subject):
                _set(self._configs, subject, None if value is None else config_of(value))
            case ModeKey(subject):
                mode = None if value is None else value.get("mode")
                _set(self._modes, subject, mode if isinstance(mode, str) and mode in MODES else None)
            case DeleteSubjectKey(subject):
                last = None if value is None else value.get("version")
                if isinstance(last, int):
                    for count, version in enumerate(list(self._subjects.get(subject, {}).values()), 1):
                        if version.version <= last:
                            self._put(SchemaKey(subject, version.version), version.soft_deleted())
                        if not count % _VERSIONS_IN_A_STEP:
                            yield
            case ContextKey(context):
                _set(self._contexts, context, None if value is None else True)
            case ClearSubjectKey(subject):
                for name in [] if value is None else self.names():
                    meant = self.versions(name, deleted=True) if is_meant(name, subject) else []
                    for count, version in enumerate(meant, 1):
                        if version.deleted:
                            self._forget(SchemaKey(name, version.version))
                        if not count % _VERSIONS_IN_A_STEP:
                            yield
                    yield

    def _is_of_another(self, key: SchemaKey, found: Version) -> bool:
        """Whether another version has the id with another text: two registries wrote at once, and the first one has it."""
        places = self._places.get((context_of(found.subject), found.id), {})
        other = next((each for each in places if each != key), None)
        return other is not None and self._at(other).schema.text != found.schema.text

    def _put(self, key: SchemaKey, found: Version) -> None:
        self._forget(key)
        context = context_of(found.subject)
        if found.subject not in self._subjects:
            self._subjects[found.subject] = {}
            if self._names is not None:
                insort(self._names, found.subject)
        self._subjects[found.subject][found.version] = found
        self._latest.pop(found.subject, None)
        self._places.setdefault((context, found.id), {})[key] = None
        self._ids.setdefault((context, found.schema), found.id)
        self._guids.setdefault(found.guid, key)
        self._highest[context] = max(self._highest.get(context, 0), found.id)
        if not found.deleted:
            for each in found.schema.references:
                self._referrers.setdefault(self.target(found.subject, each.subject, each.version), {})[key] = None

    def _forget(self, key: SchemaKey) -> None:
        found = self._subjects.get(key.subject, {}).pop(key.version, None)
        if found is None:
            return
        self._latest.pop(key.subject, None)
        if not self._subjects[key.subject]:
            del self._subjects[key.subject]
            if self._names is not None:
                del self._names[bisect_left(self._names, key.subject)]
        context = context_of(found.subject)
        places = self._places[context, found.id]
        del places[key]
        if not places:
            del self._places[context, found.id]
        if not any(self._at(each).schema == found.schema for each in places):
            self._ids.pop((context, found.schema), None)
        if self._guids.get(found.guid) == key:
            del self._guids[found.guid]
            other = next((each for each in places if self._at(each).guid == found.guid), None)
            if other is not None:
                self._guids[found.guid] = other
        for reference in found.schema.references:
            target = self.target(found.subject, reference.subject, reference.version)
            referrers = self._referrers.get(target, {})
            referrers.pop(key, None)
            if not referrers:
                self._referrers.pop(target, None)

    def _at(self, key: SchemaKey) -> Version:
        return self._subjects[key.subject][key.version]

    # ---- questions -----------------------------------------------------------------------------------------------------

    def target(self, subject: str, name: str, version: int) -> SchemaKey:
        """The version that a reference of ``subject`` is to. An unqualified name is in the context of the subject."""
        context, plain = split(name)
        where = qualified(context_of(subject), plain) if context == DEFAULT_CONTEXT else name
        if version == LATEST:
            latest = self.latest(where)
            version = LATEST if latest is None else latest.version
        return SchemaKey(where, version)

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """The versions of a subject in order, with ``deleted`` also the deleted ones."""
        found = self._subjects.get(subject, {}).values()
        return sorted((each for each in found if deleted or not each.deleted), key=lambda each: each.version)

    def version(self, subject: str, version: int, *, deleted: bool = False) -> Version | None:
        """One version, or LATEST, of which deleted ones are none."""
        if version == LATEST:
            return self.latest(subject)
        found = self._subjects.get(subject, {}).get(version)
        return None if found is None or (found.deleted and not deleted) else found

    def latest(self, subject: str) -> Version | None:
        """The newest version that is not deleted."""
        if subject not in self._latest:
            found = [each for each in self._subjects.get(subject, {}).values() if not each.deleted]
            if not found:
                return None
            self._latest[subject] = max(found, key=lambda each: each.version)
        return self._latest[subject]

    def names(self) -> list[str]:
        """All subjects in order, also those of which all versions are deleted."""
        if self._names is None:
            self._names = sorted(self._subjects)
        return self._names.copy()

    def has(self, subject: str, *, deleted: bool = False) -> bool:
        """Whether a subject has versions."""
        found = self._subjects.get(subject, {})
        return any(deleted or not each.deleted for each in found.values())

    def with_id(self, context: str, number: int) -> list[Version]:
        """The versions that have an id, also deleted ones."""
        return [self._at(each) for each in self._places.get((context, number), {})]

    def any_with_id(self, context: str, number: int) -> Version | None:
        """A version that has an id, perhaps a deleted one."""
        key = next(iter(self._places.get((context, number), {})), None)
        return None if key is None else self._at(key)

    def with_guid(self, guid: str) -> Version | None:
        """A version that has a guid."""
        key = self._guids.get(guid)
        return None if key is None else self._at(key)

    def id_of(self, context: str, schema: Schema) -> int | None:
        """The id of the same content in a context."""
        return self._ids.get((context, schema))

    def next_id(self, context: str) -> int:
        """The id of the next new content: one more than any that there was."""
        return self._highest.get(context, 0) + 1

    def highest_id(self, context: str) -> int:
        return self._highest.get(context, 0)

    def referrers(self, key: SchemaKey) -> list[int]:
        """The ids of the schemas that refer to a version, in order."""
        return sorted({self._at(each).id for each in self._referrers.get(key, {})})

    def is_referred_to(self, key: SchemaKey) -> bool:
        """Whether a schema refers to a version."""
        return key in self._referrers

    def contexts(self) -> list[str]:
        """All contexts, the default one first."""
        return [DEFAULT_CONTEXT, *sorted(self._contexts)]

    def has_context(self, context: str) -> bool:
        """Whether a context has a record; the default one needs none."""
        return context == DEFAULT_CONTEXT or context in self._contexts

    # ---- configuration -------------------------------------------------------------------------------------------------

    def config(self, subject: str | None) -> dict[str, Any] | None:
        """The configuration of a subject, or the global one; None if the subject has none of its own."""
        own = self._configs.get(subject)
        return {**self._default, **(own or {})} if subject is None else own

    def config_in_scope(self, subject: str | None) -> dict[str, Any]:
        """The configuration that holds for a subject: its own, that of its context, the global one."""
        for each in _scopes(subject):
            own = self._configs.get(each)
            if own is not None and "compatibilityLevel" in own:
                return own
            if own is not None:
                return {**self.config_in_scope(None), **own}
        return {**self._default, **self._configs.get(None, {})}

    def mode(self, subject: str | None) -> str | None:
        """The mode of a subject, or the global one; None if the subject has none of its own."""
        overall = self._modes.get(None, READWRITE)
        return overall if subject is None or overall == READONLY_OVERRIDE else self._modes.get(subject)

    def own_mode(self, subject: str) -> str | None:
        """The mode that was set for a subject."""
        return self._modes.get(subject)

    def mode_in_scope(self, subject: str | None) -> str:
        """The mode that holds for a subject."""
        overall = self._modes.get(None, READWRITE)
        if overall == READONLY_OVERRIDE:
            return overall
        return next((self._modes[each] for each in _scopes(subject) if each in self._modes), overall)


def _scopes(subject: str | None) -> Iterator[str]:
    if subject is not None:
        yield subject
        context = context_of(subject)
        if context != DEFAULT_CONTEXT:
            yield qualified(context, "")


def _set(into: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        into.pop(key, None)
    else:
        into[key] = value
