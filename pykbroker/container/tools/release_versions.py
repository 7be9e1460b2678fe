"""Feature levels by the releases that introduced them (KIP-584, KIP-1022)."""

from __future__ import annotations

from typing import Final

from pykbroker.container.tools.running import ToolError
from pykbroker.metadata.features import (
    ELR_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    TRANSACTION_VERSION,
)

_OLDEST_LEVEL: Final = 7
#: Levels of metadata.version, from the oldest that Kafka 4 supports.
_NAMES: Final = [
    "3.3-IV3",
    "3.4-IV0",
    "3.5-IV0",
    "3.5-IV1",
    "3.5-IV2",
    "3.6-IV0",
    "3.6-IV1",
    "3.6-IV2",
    "3.7-IV0",
    "3.7-IV1",
    "3.7-IV2",
    "3.7-IV3",
    "3.7-IV4",
    "3.8-IV0",
    "3.9-IV0",
    "4.0-IV0",
    "4.0-IV1",
    "4.0-IV2",
    "4.0-IV3",
    "4.1-IV0",
    "4.1-IV1",
    "4.2-IV0",
    "4.2-IV1",
    "4.3-IV0",
    "4.4-IV0",
    "4.4-IV1",
    "4.4-IV2",
    "4.5-IV0",
]
#: The metadata.version of the newest release; later ones are unstable.
LATEST: Final = "4.4-IV2"
#: Other features: their levels in releases, each with the metadata.version from which on.
_DEFAULTS: Final = {
    KRAFT_VERSION: ((1, "3.9-IV0"),),
    TRANSACTION_VERSION: ((2, "4.0-IV2"),),
    GROUP_VERSION: ((1, "4.0-IV0"),),
    ELR_VERSION: ((1, "4.1-IV0"),),
    "share.version": ((1, "4.2-IV0"), (2, "4.4-IV0")),
    "streams.version": ((1, "4.2-IV1"),),
}
#: Levels of other features that a level of a feature depends on.
_NEEDS: Final = {(ELR_VERSION, 1): {METADATA_VERSION: 23}}


def metadata_level(release: str) -> int:
    """Return the metadata.version of a release, as 4.0 or 4.0-IV1. Raises ToolError."""
    if release in _NAMES:
        return _OLDEST_LEVEL + _NAMES.index(release)
    finished = _NAMES[: _NAMES.index(LATEST) + 1]
    its = [name for name in finished if name.partition("-")[0] == ".".join(release.split(".")[:2])]
    if not its:
        raise ToolError(f"Unknown metadata.version '{release}'. Supported metadata.version are: {', '.join(_NAMES)}")
    return _OLDEST_LEVEL + _NAMES.index(its[-1])


def level_name(level: int) -> str | None:
    """Return the name of a metadata.version level."""
    return _NAMES[level - _OLDEST_LEVEL] if 0 <= level - _OLDEST_LEVEL < len(_NAMES) else None


def levels_of(metadata_version: int) -> dict[str, int]:
    """Return the default levels of the other features at this metadata.version."""
    return {
        feature: max((level for level, since in levels if metadata_version >= metadata_level(since)), default=0)
        for feature, levels in _DEFAULTS.items()
    }


def needs_of(feature: str, level: int) -> dict[str, int]:
    """Return the dependencies of a feature's level. Raises ToolError."""
    if feature not in _DEFAULTS:
        raise ToolError(f"Unknown feature: {feature}")
    highest, _ = _DEFAULTS[feature][-1]
    if not 0 <= level <= highest:
        raise ToolError(f"No feature:{feature} with feature level {level}")
    return _NEEDS.get((feature, level), {})
