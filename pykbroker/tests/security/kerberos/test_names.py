from __future__ import annotations

import pytest

from pykbroker.security.kerberos.names import NameRuleError, NoUser, ShortNames

REALM = "OUR.REALM"


def user(name: str, *rules: str) -> str:
    return ShortNames(rules, REALM).user(name)


@pytest.mark.parametrize(
    ("name", "rules", "expected"),
    [
        ("alice@OUR.REALM", ["DEFAULT"], "alice"),
        ("kafka/host@OUR.REALM", ["DEFAULT"], "kafka"),
        ("alice", ["DEFAULT"], "alice"),
        ("alice@OTHER", ["RULE:[1:$1]", "DEFAULT"], "alice"),
        ("alice@OTHER", ["RULE:[1:$1@$0](.*@OTHER)s/@.*//", "DEFAULT"], "alice"),
        ("alice@OUR.REALM", ["RULE:[1:$1@$0](.*@OTHER)s/@.*//", "DEFAULT"], "alice"),
        (
            "alice@PARTNER.EXAMPLE",
            [r"RULE:[1:$1@$0](.*@PARTNER\.EXAMPLE)s/@.*/-of-partner/", "DEFAULT"],
            "alice-of-partner",
        ),
        ("nn/host@OUR.REALM", ["RULE:[2:$1-$2]", "DEFAULT"], "nn-host"),
        ("alice@OUR.REALM", ["RULE:[2:$1-$2]", "DEFAULT"], "alice"),
        ("Alice@OUR.REALM", ["RULE:[1:$1]/L"], "alice"),
        ("Alice@OUR.REALM", ["RULE:[1:$1]/U"], "ALICE"),
        ("banana@OUR.REALM", ["RULE:[1:$1]s/a/o/"], "bonana"),
        ("banana@OUR.REALM", ["RULE:[1:$1]s/a/o/g"], "bonono"),
        ("banana@OUR.REALM", ["RULE:[1:$1]s/(b)(.*)/$2$1/"], "ananab"),
        ("banana@OUR.REALM", ["RULE:[1:$1]s/(b).*/$12\\$/"], "b2$"),
        ("a@OUR.REALM", ["RULE:[1:x$1y]()", "RULE:[1:$1]()s/b/c/", "DEFAULT"], "a"),
    ],
)
def test_who_a_name_is(name: str, rules: list[str], expected: str) -> None:
    assert user(name, *rules) == expected


@pytest.mark.parametrize(
    ("name", "rules", "said"),
    [
        ("alice@OTHER", ["DEFAULT"], r"no rule of .* \(DEFAULT\) applies to alice@OTHER"),
        ("alice@OTHER", [], "no rule"),
        ("a/b/c@OUR.REALM", ["DEFAULT"], "Malformed Kerberos name: a/b/c@OUR.REALM"),
        ("a@b@c", ["DEFAULT"], "Malformed"),
        ("alice@OTHER", ["RULE:[1:$1@$0]", "DEFAULT"], "Non-simple name alice@OTHER"),
        ("alice@OTHER", ["RULE:[1:$2]"], r"has \$2, but the name only has \$0 to \$1"),
        ("alice@OTHER", ["RULE:[1:$]"], r"has \$, "),
        ("alice@OTHER", ["RULE:[1:$99999999999]"], r"has \$9"),
        ("alice@OTHER", ["RULE:[1:$1]s/a/$1/"], "refers to a group"),
        ("alice@OTHER", ["RULE:[1:$1]s/a/\\/"], "refers to a group"),
        ("alice@OTHER", ["RULE:[1:$1]s/a/$x/"], "refers to a group"),
    ],
)
def test_who_is_nobody(name: str, rules: list[str], said: str) -> None:
    with pytest.raises(NoUser, match=said):
        user(name, *rules)


@pytest.mark.parametrize(
    "rule",
    ["", "default", "RULE", "RULE:[:$1]", "RULE:[99999999999:$1]", "RULE:[1:$1]s/a/b", "RULE:[1:$1]/X", "RULE:[1:$1](a(b)c)", "DEFAULT "],
)  # fmt: skip
def test_what_is_no_rule(rule: str) -> None:
    with pytest.raises(NameRuleError, match=r"A rule is DEFAULT, or RULE:\["):
        ShortNames([rule], REALM)


@pytest.mark.parametrize("rule", ["RULE:[1:$1]([)", "RULE:[1:$1]([[a]&&b])", "RULE:[1:$1]s/*/x/"])
def test_a_pattern_that_is_none(rule: str) -> None:
    with pytest.raises(NameRuleError, match="Invalid pattern"):
        ShortNames([rule], REALM)
