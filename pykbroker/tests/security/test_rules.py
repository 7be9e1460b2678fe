"""What access lists mean: denying before allowing, prefixes, hosts, implied operations, and the default."""

from __future__ import annotations

import pytest

from pykbroker.security.acl import ALLOW, DENY, Acl
from pykbroker.security.operations import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    WRITE,
)
from pykbroker.security.resources import GROUP, LITERAL, PREFIXED, TOPIC
from pykbroker.security.rules import AclRules, Action


def acl(
    operation: int = READ,
    name: str = "orders",
    *,
    pattern: int = LITERAL,
    who: str = "User:alice",
    host: str = "*",
    permission: int = ALLOW,
    kind: int = TOPIC,
) -> Acl:
    return Acl(kind, name, pattern, who, host, operation, permission)


def test_a_range_of_addresses_denies_and_allows() -> None:
    rules = AclRules([acl(host="10.0.0.0/8"), acl(host="10.0.0.0/30", permission=DENY)])
    assert [allowed(rules, host=host) for host in ("10.0.0.9", "10.0.0.3", "11.0.0.9")] == [True, False, False]
    assert rules.allows_any("User:alice", "10.0.0.9", READ, TOPIC)
    assert not rules.allows_any("User:alice", "11.0.0.9", READ, TOPIC)


def allowed(
    rules: AclRules, operation: int = READ, name: str = "orders", who: str = "User:alice", host: str = "10.0.0.1"
) -> bool:
    return rules.decide(Action(who, host, operation, TOPIC, name)).allowed


def test_nothing_is_allowed_without_a_list() -> None:
    assert not allowed(AclRules())


def test_a_list_allows_what_it_names_and_nothing_else() -> None:
    rules = AclRules([acl()])
    assert allowed(rules)
    assert not allowed(rules, WRITE)
    assert not allowed(rules, name="order")
    assert not allowed(rules, name="orders2")
    assert not allowed(rules, who="User:bob")
    assert not allowed(AclRules([acl(kind=GROUP)]))


def test_a_prefix_is_about_every_name_that_begins_so() -> None:
    rules = AclRules([acl(name="or", pattern=PREFIXED)])
    assert allowed(rules)
    assert allowed(rules, name="or")
    assert not allowed(rules, name="o")


def test_a_star_is_every_name_as_a_literal_and_one_character_as_a_prefix() -> None:
    assert allowed(AclRules([acl(name="*")]))
    assert not allowed(AclRules([acl(name="*", pattern=PREFIXED)]))


@pytest.mark.parametrize(
    "denying", [acl(permission=DENY), acl(name="*", permission=DENY), acl(name="o", pattern=PREFIXED, permission=DENY)]
)
@pytest.mark.parametrize("allowing", [acl(), acl(name="*"), acl(ALL), acl(name="orders", pattern=PREFIXED)])
def test_whoever_is_denied_is_denied_however_he_is_allowed(denying: Acl, allowing: Acl) -> None:
    for lists in ([denying, allowing], [allowing, denying]):
        assert not allowed(AclRules(lists))


def test_everybody_and_all_operations() -> None:
    rules = AclRules([acl(ALL, who="User:*")])
    assert allowed(rules, DELETE, who="User:bob")
    assert not allowed(AclRules([acl(ALL, who="User:*", permission=DENY), acl(WRITE)]), WRITE)


def test_a_host_is_compared_as_text() -> None:
    rules = AclRules([acl(host="10.0.0.1")])
    assert allowed(rules)
    assert not allowed(rules, host="10.0.0.2")


@pytest.mark.parametrize("operation", [READ, WRITE, DELETE, ALTER, DESCRIBE])
def test_who_may_do_something_may_describe(operation: int) -> None:
    assert allowed(AclRules([acl(operation)]), DESCRIBE)


def test_what_implies_what() -> None:
    assert allowed(AclRules([acl(ALTER_CONFIGS)]), DESCRIBE_CONFIGS)
    assert not allowed(AclRules([acl(CREATE)]), DESCRIBE)
    assert not allowed(AclRules([acl(DESCRIBE)]), READ)
    assert allowed(AclRules([acl(READ, permission=DENY), acl(DESCRIBE)]), DESCRIBE)  # what is denied implies nothing


def test_the_default_holds_only_where_no_list_is_about_the_resource() -> None:
    assert allowed(AclRules(otherwise=True))
    for about in (acl(who="User:bob"), acl(name="*", who="User:bob"), acl(name="o", pattern=PREFIXED, who="User:bob")):
        assert not allowed(AclRules([about], otherwise=True))
    assert allowed(AclRules([acl(name="others", who="User:bob")], otherwise=True))


def test_a_list_that_is_removed_is_about_nothing_any_more() -> None:
    for one in (acl(), acl(name="or", pattern=PREFIXED), acl(name="*")):
        rules = AclRules([one], otherwise=True)
        rules.remove(one)
        assert allowed(rules, WRITE)
    rules = AclRules([acl(name="or", pattern=PREFIXED), acl(name="ab", pattern=PREFIXED)])
    rules.remove(acl(name="ab", pattern=PREFIXED))
    assert allowed(rules)


def allows_any(*lists: Acl) -> bool:
    return AclRules(lists).allows_any("User:alice", "10.0.0.1", WRITE, TOPIC)


def test_whether_any_topic_may_be_written_to() -> None:
    assert not allows_any()
    assert allows_any(acl(WRITE))
    assert allows_any(acl(WRITE, name="*"))
    assert not allows_any(acl(READ))
    assert not allows_any(acl(WRITE, who="User:bob"))
    assert not allows_any(acl(WRITE), acl(WRITE, permission=DENY))
    assert not allows_any(acl(WRITE), acl(WRITE, name="*", permission=DENY))
    assert not allows_any(acl(WRITE, pattern=PREFIXED), acl(ALL, name="or", pattern=PREFIXED, permission=DENY))
    assert allows_any(acl(WRITE, pattern=PREFIXED), acl(WRITE, permission=DENY))  # orders2 is not denied
