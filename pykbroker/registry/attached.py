"""What clients attach to schemas, metadata and rules: its size and its shape. Pure; a record of the topic may have any. Source: the public
description of Confluent's registry.
"""

from __future__ import annotations

from typing import Any, Final

#: Characters of a schema's metadata, of its rules, and of a configuration: they are parsed where they are asked for.
MOST_SAID: Final = 64 * 1024
#: Fields of a configuration, beside the level, and their types.
CONFIG_FIELDS: Final[dict[str, type]] = {
    "alias": str,
    "normalize": bool,
    "validateFields": bool,
    "compatibilityGroup": str,
    "defaultMetadata": dict,
    "overrideMetadata": dict,
    "defaultRuleSet": dict,
    "overrideRuleSet": dict,
    "compatibilityPolicy": str,
}
#: Those that are metadata, and that are rules.
_METADATA: Final = ("defaultMetadata", "overrideMetadata")
_RULES: Final = ("defaultRuleSet", "overrideRuleSet")


def is_metadata(said: Any) -> bool:
    """Whether this is an object whose lists are of texts."""
    return isinstance(said, dict) and all(
        all(isinstance(each, str) for each in value) for value in said.values() if isinstance(value, list)
    )


def are_rules(said: Any) -> bool:
    """Whether this is an object of lists of rules, which have names."""
    return isinstance(said, dict) and all(value is None or _are_named(value) for value in said.values())


def _are_named(rules: Any) -> bool:
    return isinstance(rules, list) and all(
        isinstance(each, dict) and isinstance(each.get("name", ""), str) for each in rules
    )


def misshapen(said: dict[str, Any]) -> str | None:
    """The name of a field of a configuration that is no metadata or no rules, as it should be; None if there is none."""
    for names, is_fine in ((_METADATA, is_metadata), (_RULES, are_rules)):
        for name in names:
            if said.get(name) is not None and not is_fine(said[name]):
                return name
    return None
