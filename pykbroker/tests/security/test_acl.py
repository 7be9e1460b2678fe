"""Which entries a filter means, and how they are written."""

from __future__ import annotations

import pytest

from pykbroker.security.acl import ALLOW, DENY, Acl, AclFilter, as_kafka_writes, name_of
from pykbroker.security.operations import DESCRIBE, OPERATION_NAMES, READ
from pykbroker.security.resources import ANY, GROUP, LITERAL, MATCH, PREFIXED, TOPIC

ONE = Acl(TOPIC, "orders", LITERAL, "User:alice", "*", READ, ALLOW)


@pytest.mark.parametrize(
    "meant",
    [
        AclFilter(),
        AclFilter(*ONE),
        AclFilter(TOPIC, "orders"),
        AclFilter(TOPIC, "orders", MATCH),
        AclFilter(principal="User:alice", host="*", operation=READ, permission_type=ALLOW),
    ],
)
def test_an_entry_that_is_meant(meant: AclFilter) -> None:
    assert meant.matches(ONE)


@pytest.mark.parametrize(
    "other",
    [
        AclFilter(GROUP),
        AclFilter(TOPIC, "order"),
        AclFilter(TOPIC, "orders", PREFIXED),
        AclFilter(principal="User:*"),
        AclFilter(host="10.0.0.1"),
        AclFilter(operation=DESCRIBE),
        AclFilter(permission_type=DENY),
    ],
)
def test_one_that_is_not(other: AclFilter) -> None:
    assert not other.matches(ONE)


def test_match_means_every_pattern_that_is_about_a_name() -> None:
    lists = [ONE, ONE._replace(resource_name="*"), ONE._replace(resource_name="or", pattern_type=PREFIXED)]
    assert all(AclFilter(TOPIC, "orders", MATCH).matches(each) for each in lists)
    assert [AclFilter(TOPIC, "orders", ANY).matches(each) for each in lists] == [True, False, False]
    assert not AclFilter(TOPIC, "o", MATCH).matches(lists[2])


def test_how_it_is_written() -> None:
    assert as_kafka_writes(ONE) == (
        "StandardAcl(resourceType=TOPIC, resourceName=orders, patternType=LITERAL, principal=User:alice, host=*, "
        "operation=READ, permissionType=ALLOW)"
    )
    assert [name_of(code, OPERATION_NAMES) for code in (-1, 0, 3, 99)] == ["UNKNOWN", "UNKNOWN", "READ", "UNKNOWN"]
