"""Configuration and mode, of all subjects or of one."""

from __future__ import annotations

from typing import Any

from pykbroker.registry import deciding
from pykbroker.registry.attached import CONFIG_FIELDS, MOST_SAID, misshapen
from pykbroker.registry.compatibility import checked_level
from pykbroker.registry.errors import NO_SUBJECT_CONFIG, NO_SUBJECT_MODE, TOO_LARGE, RegistryError
from pykbroker.registry.rest.call import Call, unprocessable
from pykbroker.registry.state import RegistryState
from pykbroker.registry.subjects import checked, normal
from pykbroker.runtime.json_text import is_larger


def _subject(call: Call) -> str | None:
    return normal(call.path["subject"]) if "subject" in call.path else None


def _written(call: Call) -> str | None:
    return checked(call.path["subject"]) if "subject" in call.path else None


async def config(call: Call) -> dict[str, Any]:
    """A configuration; with ``defaultToGlobal`` the one that holds."""
    state, subject = await call.registry.state(), _subject(call)
    found = state.config_in_scope(subject) if call.flag("defaultToGlobal") else state.config(subject)
    if found is None:
        raise RegistryError(
            NO_SUBJECT_CONFIG, f"Subject '{subject}' does not have subject-level compatibility configured"
        )
    return _public_fields(found)


async def set_config(call: Call) -> dict[str, Any]:
    """Change a configuration; what was sent."""
    if is_larger(call.body, MOST_SAID):
        raise RegistryError(TOO_LARGE, f"A configuration has more than {MOST_SAID} characters, or is nested too deeply")
    said = {name: value for name, value in call.body.items() if name in CONFIG_FIELDS}
    for name, value in said.items():
        if value is not None and not isinstance(value, CONFIG_FIELDS[name]):
            raise unprocessable(name)
    if (wrong := misshapen(said)) is not None:
        raise unprocessable(wrong)
    level = call.body.get("compatibility", call.body.get("compatibilityLevel"))
    if level is not None:
        said["compatibilityLevel"] = checked_level(level)
    elif not said:
        checked_level(None)
    subject = _written(call)
    await call.registry.change(lambda state: (None, deciding.set_config(state, subject, said)))
    return dict(call.body)


async def delete_config(call: Call) -> dict[str, Any]:
    """Remove a configuration; the former one. Clients read its level by either name: that of the source, and that of the documentation."""
    subject = _subject(call)
    found = _public_fields(await call.registry.change(lambda state: deciding.delete_config(state, subject)))
    return {**found, "compatibility": found["compatibilityLevel"]} if "compatibilityLevel" in found else found


def _public_fields(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "subject"}


async def mode(call: Call) -> dict[str, str]:
    """A mode; with ``defaultToGlobal`` the one that holds."""
    state, subject = await call.registry.state(), _subject(call)
    found = state.mode_in_scope(subject) if call.flag("defaultToGlobal") else state.mode(subject)
    if found is None:
        raise RegistryError(NO_SUBJECT_MODE, f"Subject '{subject}' does not have subject-level mode configured")
    return {"mode": found}


async def set_mode(call: Call) -> dict[str, str]:
    """Change a mode; what was sent."""
    said, subject, force = str(call.body.get("mode", "")), _written(call), call.flag("force")
    await call.registry.change_in_steps(lambda state: deciding.set_mode(state, subject, said, force=force))
    return {"mode": said}


async def delete_mode(call: Call) -> dict[str, str]:
    """Remove a mode; the former one."""
    subject = _subject(call)

    def decide(state: RegistryState) -> tuple[str, list[Any]]:
        return deciding.delete_mode(state, subject)

    return {"mode": await call.registry.change(decide)}
