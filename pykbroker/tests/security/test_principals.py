"""Mapping rules: Kafka's own examples, and what Java's replaceAll makes of groups."""

from __future__ import annotations

import pytest

from pykbroker.security.principals import MappingRules, NoRuleApplies, RuleError

SUBJECT = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", SUBJECT),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Duke"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L", "duke@serviceusers"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1/U", "DUKE"),
        ("RULE:^CN=nobody$/x/, RULE:^CN=(.*?),.*$/u-$1/ ,DEFAULT", "u-Duke"),
        ("RULE:CN=(.*?),.*/$1$2/", "Duke$2"),
        ("RULE:CN=(.*?),.*/$12/", "Duke2"),
        (r"RULE:CN=(.*?),.*/\$1\/x/", "$1/x"),
        ("RULE:.*/$0/", SUBJECT),
        (",,DEFAULT", SUBJECT),
        ("RULE:CN=Duke/short/,DEFAULT", SUBJECT),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_decides(rules: str, name: str) -> None:
    assert MappingRules(rules).name(SUBJECT) == name


def test_without_a_rule_that_applies_somebody_is_nobody() -> None:
    with pytest.raises(NoRuleApplies, match="CN=Duke"):
        MappingRules("RULE:^CN=nobody$/x/").name(SUBJECT)


@pytest.mark.parametrize(
    "rules",
    ["default", "DEFAULT/L", "DEFAULT/g", "rule:", "RULE:^CN$/", "RULE:(/x/", "RULE:a/b/X", "DEFAULT RULE:a/b/"],
)
def test_bad_rules_are_refused(rules: str) -> None:
    with pytest.raises(RuleError, match=r"ssl\.principal\.mapping\.rules"):
        MappingRules(rules)
