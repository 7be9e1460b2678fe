"""The shape of metadata and rules."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.registry.attached import are_rules, is_metadata, misshapen


@pytest.mark.parametrize(
    ("said", "metadata", "rules"),
    [
        ({}, True, True),
        ({"properties": {"a": "b"}, "tags": {"p": ["t"]}, "sensitive": ["a"]}, True, False),
        ({"sensitive": [["a"]]}, False, False),
        ({"domainRules": [{"name": "r"}], "migrationRules": None}, False, True),
        ({"domainRules": [{"name": []}]}, False, False),
        ({"domainRules": 5}, True, False),
        ({"domainRules": ["a"]}, True, False),
        ([], False, False),
        (None, False, False),
    ],
)
def test_shapes(said: Any, metadata: bool, rules: bool) -> None:
    assert (is_metadata(said), are_rules(said)) == (metadata, rules)


def test_a_configuration() -> None:
    assert misshapen({"defaultMetadata": {"tags": {}}, "overrideRuleSet": None, "compatibilityLevel": "FULL"}) is None
    assert misshapen({"overrideMetadata": {"sensitive": [{}]}}) == "overrideMetadata"
    assert misshapen({"defaultRuleSet": {"domainRules": 5}}) == "defaultRuleSet"
