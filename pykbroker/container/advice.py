"""What to write instead of variables that images in use know and that have no effect here. They do not prevent the start."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from pykbroker.container import registry_variables
from pykbroker.container.environment import PREFIX
from pykbroker.runtime.levels import LEVELS

#: A variable to the reason why it has no effect, and what to write.
_INSTEAD: Final = {
    "KAFKA_CREATE_TOPICS": "creates no topics: run kafka-topics --create once the broker is ready",
    "KAFKA_JMX_PORT": "opens no port, since there is no JVM: metrics are at /metrics of the HTTP port, 8080",
}
_OF_ANOTHER_IMAGE: Final = "KAFKA_CFG_"
_LEVEL: Final = "KAFKA_LOG4J_ROOT_LOGLEVEL"
_OF_A_LISTENER: Final = "KAFKA_LISTENER_NAME_"
_NAME: Final = re.compile(r"([^,:]+)://")
_SETTING: Final = re.compile(r"[a-z][a-z0-9_-]*(?:\.[a-z0-9_-]+)+")


def on(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what to tell, a sentence each."""
    for name in sorted(environment):
        if name in _INSTEAD and environment[name]:
            yield f"{name} {_INSTEAD[name]}"
        elif name.startswith(_OF_ANOTHER_IMAGE):
            yield f"{name} is a variable of another image: write {PREFIX}{name.removeprefix(_OF_ANOTHER_IMAGE)}"
    level = environment.get(_LEVEL, "")
    if level and level.upper() not in LEVELS:
        yield f"{_LEVEL}={level} is not a level: write one of {', '.join(LEVELS)}"
    yield from _short_underscores(environment)
    yield from registry_variables.advice(environment)


def _short_underscores(environment: Mapping[str, str]) -> Iterator[str]:
    """Settings of a listener whose name has an underscore, which a variable writes as two."""
    for listener in sorted(set(_NAME.findall(environment.get("KAFKA_LISTENERS", "")))):
        meant, said = f"{_OF_A_LISTENER}{listener.strip().upper()}_", sorted(environment)
        if "_" in listener:
            right = f"{_OF_A_LISTENER}{listener.strip().upper().replace('_', '__')}_"
            yield from (
                f"{name} is of no listener, since _ is a dot: write {right}{name.removeprefix(meant)}"
                for name in said
                if name.startswith(meant)
            )


def variable(setting: str) -> str:
    """Return the variable of a setting."""
    return PREFIX + setting.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def where(message: str, environment: Mapping[str, str]) -> str:
    """Return an error message with the variables that set what it names."""
    named = dict.fromkeys(variable(setting) for setting in _SETTING.findall(message))
    found = [name for name in named if name in environment]
    return f"{message} ({', '.join(found)})" if found else message
