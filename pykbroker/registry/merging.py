"""Metadata and rules of a schema, with those of the version before and of the subject's configuration. Pure: they are clients' matter."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pykbroker.registry.attached import MOST_SAID, are_rules, is_metadata
from pykbroker.registry.errors import TOO_LARGE, RegistryError
from pykbroker.registry.schema import Schema, compact


def metadata_and_rules(config: Mapping[str, Any], schema: Schema, before: Schema | None) -> Schema:
    """The schema with its own metadata and rules, else those of the version before; the configuration's defaults are under them, its overrides
    above. What is misshapen, in a record of others, is none. Raises RegistryError for more than a schema may have.
    """
    metadata = _loaded(
        schema.metadata if schema.metadata is not None or before is None else before.metadata, is_metadata
    )
    rules = _loaded(schema.rule_set if schema.rule_set is not None or before is None else before.rule_set, are_rules)
    metadata = _merged(_merged(config.get("defaultMetadata"), metadata), config.get("overrideMetadata"))
    rules = _merged_rules(_merged_rules(config.get("defaultRuleSet"), rules), config.get("overrideRuleSet"))
    return replace(schema, metadata=_text("metadata", metadata), rule_set=_text("ruleSet", rules))


def _merged(lower: Any, upper: Any) -> Any:
    """Objects field by field, where the upper one wins; lists, which are sets here, together."""
    if lower is None or upper is None:
        return lower if upper is None else upper
    found = {name: value for name, value in lower.items() if value is not None}
    for name, value in upper.items():
        there = found.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            found[name] = {**there, **value}
        elif isinstance(there, list) and isinstance(value, list):
            found[name] = list(dict.fromkeys((*there, *value)))
        elif value is not None:
            found[name] = value
    return found


def _merged_rules(lower: Any, upper: Any) -> Any:
    """Rules by their names, of which the upper one wins."""
    if lower is None or upper is None:
        return lower if upper is None else upper
    found: dict[str, Any] = {}
    for kind in dict.fromkeys((*lower, *upper)):
        rules = {each.get("name"): each for each in lower.get(kind) or ()}
        for each in upper.get(kind) or ():
            rules.pop(each.get("name"), None)
            rules[each.get("name")] = each
        found[kind] = list(rules.values())
    return found


def _loaded(text: str | None, is_fine: Callable[[Any], bool]) -> Any:
    found = None if text is None else json.loads(text)
    return found if is_fine(found) else None


def _text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    text = compact(value)
    if len(text) > 2 * MOST_SAID:  # its own, and that of the configuration
        raise RegistryError(
            TOO_LARGE,
            f"{name} has, with that of the configuration and of the version before, more than {2 * MOST_SAID} characters",
        )
    return text
