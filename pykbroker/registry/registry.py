"""The registry: reads and changes the state in the topic. A change is answered when its records are committed and read back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pykbroker.registry import deciding
from pykbroker.registry.compatibility import NONE, Earlier, compared, incompatibilities
from pykbroker.registry.deciding import Decision, Registration
from pykbroker.registry.errors import INCOMPATIBLE, STORE, RegistryError, invalid_schema
from pykbroker.registry.formats.parsed import Parsed
from pykbroker.registry.parsing import Parser
from pykbroker.registry.records import Change
from pykbroker.registry.references import numbered, source
from pykbroker.registry.schema import Schema, Version
from pykbroker.registry.state import DEFAULT_COMPATIBILITY, RegistryState
from pykbroker.registry.topic import SchemasTopic
from pykbroker.registry.turns import in_steps, in_turns

if TYPE_CHECKING:
    from pykbroker.process.life import Lifetimes

T = TypeVar("T")

#: Schemas that are parsed or compared at once.
_THREADS: Final = 2
#: Earlier versions whose references are looked up in one turn of the loop.
_SOURCES_AT_ONCE: Final = 5


class Registry:
    """See the module. Belongs to the loop; schemas are parsed and compared in threads. All methods raise RegistryError.

    ``compatibility``: the level where none has been set.
    """

    def __init__(self, lifetimes: Lifetimes, compatibility: str = DEFAULT_COMPATIBILITY) -> None:
        self._topic = SchemasTopic(lifetimes, compatibility)
        self._writing = asyncio.Lock()
        self._parser = Parser()
        self._pool = ThreadPoolExecutor(_THREADS, "schemas")

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def cluster_id(self) -> str:
        """The id of the cluster."""
        return self._topic.cluster_id()

    async def state(self) -> RegistryState:
        """The state as of now, to be used before the next wait."""
        return await self._topic.state()

    def state_if_read(self) -> RegistryState | None:
        """The state as of now, where it is read; else None."""
        return self._topic.state_if_read()

    async def register(self, registration: Registration, *, normalize: bool = False) -> Version:
        """Register a schema; the version that has it, if there is one."""
        if registration.schema.text.strip():  # parsed before the others' turn, who then do not wait for it
            await self._canonical(
                await self.state(), registration.subject, registration.schema, new=True, normalize=normalize
            )
        async with self._writing:
            state = await self.state()
            deciding.check_may_register(state, registration)
            registration = deciding.completed(state, registration)
            config = state.config_in_scope(registration.subject)
            schema, parsed = await self._canonical(
                state, registration.subject, registration.schema, new=True, normalize=normalize
            )
            registration = registration._replace(schema=schema)
            found = await in_steps(deciding.registered(state, registration))
            if found is not None:
                return found
            if state.mode_in_scope(registration.subject) != "IMPORT":
                versions = await _of_group(
                    state.versions(registration.subject), schema, config.get("compatibilityGroup")
                )
                why = await self._compared(state, config.get("compatibilityLevel", NONE), schema, parsed, versions)
                if why:
                    raise RegistryError(
                        INCOMPATIBLE,
                        f'Schema being registered is incompatible with an earlier schema for subject "{registration.subject}", details: [{", ".join(why)}]',
                    )
            made, changes = deciding.register(state, registration)
            await self._append(changes, state)
            stored = (await self.state()).version(made.subject, made.version, deleted=True)
            if stored is None or (stored.id, stored.schema) != (made.id, made.schema):
                raise RegistryError(
                    STORE, "Another schema registry has written, or the brokers were reset meanwhile: ask again"
                )
            return made

    async def look_up(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> Version | None:
        """The version of a subject that has a schema."""
        state = await self.state()
        schema, _ = await self._canonical(state, subject, schema, new=False, normalize=normalize)
        return await in_steps(deciding.looked_up(await self.state(), subject, schema, deleted=deleted))

    async def check(
        self, subject: str, schema: Schema, versions: Sequence[Version], *, normalize: bool = False
    ) -> list[str]:
        """Why a schema is not compatible with these versions of a subject, by its mode; nothing if it is."""
        state = await self.state()
        config = state.config_in_scope(subject)
        schema, parsed = await self._canonical(state, subject, schema, new=True, normalize=normalize)
        chosen = await _of_group(versions, schema, config.get("compatibilityGroup"))
        return await self._compared(state, config.get("compatibilityLevel", NONE), schema, parsed, chosen)

    async def parsed(self, version: Version) -> Parsed:
        """A version's schema, parsed."""
        state = await self.state()
        found = source(state, version.subject, version.schema)
        return await self.in_thread(lambda: self._parser.parse(found))

    async def change(self, decide: Callable[[RegistryState], tuple[T, list[Change]]]) -> T:
        """Make the changes that ``decide`` makes of the state; returns its answer."""
        async with self._writing:
            state = await self.state()
            answer, changes = decide(state)
            await self._append(changes, state)
            return answer

    async def change_in_steps(self, decide: Callable[[RegistryState], Decision[list[Change]]]) -> None:
        """Make the changes that ``decide`` makes of the state; no other write comes between its steps."""
        async with self._writing:
            state = await self.state()
            await self._append(await in_steps(decide(state)), state)

    async def _append(self, changes: list[Change], state: RegistryState) -> None:
        if changes:
            await self._topic.append(changes, state)
            await self._topic.state()

    async def _canonical(
        self, state: RegistryState, subject: str, schema: Schema, *, new: bool, normalize: bool
    ) -> tuple[Schema, Parsed]:
        """The schema as it is stored, and parsed."""
        if not schema.text.strip():
            raise invalid_schema("Empty schema")
        normalize = normalize or state.config_in_scope(subject).get("normalize") is True
        schema = numbered(state, subject, schema)
        found = source(state, subject, schema, new=new, normalize=normalize)
        parsed = await self.in_thread(lambda: self._parser.parse(found))
        return replace(schema, text=parsed.text), parsed

    async def _compared(
        self, state: RegistryState, level: str, schema: Schema, parsed: Parsed, versions: Sequence[Version]
    ) -> list[str]:
        if level == NONE or not versions:
            return []
        earlier = [self._earlier(state, each) async for each in in_turns(compared(level, versions), _SOURCES_AT_ONCE)]
        return await self.in_thread(lambda: incompatibilities(schema.type, parsed, level, earlier))

    def _earlier(self, state: RegistryState, version: Version) -> Earlier:
        found = source(state, version.subject, version.schema)
        return Earlier(version.schema.type, version.version, version.schema.text, lambda: self._parser.parse(found))

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The result of work that takes long. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


async def _of_group(versions: Sequence[Version], schema: Schema, group: Any) -> Sequence[Version]:
    """Those with the same value of the metadata's property ``group``, or all without one."""
    if not isinstance(group, str):
        return versions
    wanted = schema.properties().get(group)
    return [each async for each in in_turns(versions, at_once=1) if each.schema.properties().get(group) == wanted]
