"""Access lists as records: what may be one, that each stands once, and what filters find."""

from __future__ import annotations

import random

import pytest

from pykbroker.controller.acls import AclPlanner, says_any
from pykbroker.metadata.image_records import image_records
from pykbroker.security.acl import ALLOW, DENY, Acl, AclFilter
from pykbroker.security.operations import ALL, READ, WRITE
from pykbroker.security.resources import ANY, CLUSTER, CLUSTER_NAME, LITERAL, MATCH, PREFIXED, TOPIC, USER
from pykbroker.tests.kit.metadata import make_controller, records_in, replayed
from pykbroker.wire.errors import ErrorCode, KafkaError

ONE = Acl(TOPIC, "t", LITERAL, "User:alice", "*", READ, ALLOW)


def lists(controller):
    return {Acl.of(record) for record in controller.image.acls.values()}


def test_kept_once_and_removed() -> None:
    controller = make_controller()
    other = ONE._replace(operation=WRITE)
    assert controller.create_acls([ONE, ONE, other]).value == [None, None, None]
    assert controller.create_acls([ONE]).value == [None]
    assert len(controller.image.acls) == 2
    assert lists(controller) == {ONE, other}
    assert replayed(records_in(controller.log)).acls == controller.image.acls
    assert replayed(list(image_records(controller.image))).acls == controller.image.acls
    assert controller.delete_acls([AclFilter(operation=READ), AclFilter(TOPIC), AclFilter(CLUSTER)]).value == [
        [ONE],
        [ONE, other],
        [],
    ]
    assert controller.image.acls == {}
    assert controller.create_acls([ONE]).value == [None]
    assert lists(controller) == {ONE}


def test_those_that_the_log_holds_are_known() -> None:
    controller = make_controller()
    controller.create_acls([ONE])
    records, errors = AclPlanner(controller.image, random.Random(1)).create([ONE])
    assert (records, errors) == ([], [None])


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (ONE._replace(resource_type=CLUSTER), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (ONE._replace(resource_name=""), "Invalid empty resource name"),
        (ONE._replace(resource_type=8), "Invalid resourceType UNKNOWN"),
        (ONE._replace(resource_type=-1), "Invalid resourceType UNKNOWN"),
        (ONE._replace(pattern_type=5), "Invalid patternType UNKNOWN"),
        (ONE._replace(operation=16), "Invalid operation UNKNOWN"),
        (ONE._replace(permission_type=4), "Invalid permissionType UNKNOWN"),
        (
            ONE._replace(principal="alice"),
            "Could not parse principal from `alice` (no colon is present separating the principal type from the principal name)",
        ),
    ],
)
def test_what_no_entry_may_be(odd: Acl, words: str) -> None:
    controller = make_controller()
    good, bad = controller.create_acls([ONE, odd]).value
    assert good is None
    assert (bad.code, bad.message) == (ErrorCode.INVALID_REQUEST, words)
    assert lists(controller) == {ONE}


def test_what_an_entry_may_be() -> None:
    odd = [
        Acl(CLUSTER, CLUSTER_NAME, LITERAL, "User:", "10.0.0.0/8", ALL, DENY),
        Acl(USER, "User:bob", PREFIXED, "Group:a:b", "not a host", 14, ALLOW),
    ]
    assert make_controller().create_acls(odd).value == [None, None]


@pytest.mark.parametrize(
    ("level", "host", "code", "said"),
    [
        (33, "", ErrorCode.INVALID_REQUEST, "Host pattern cannot be null or empty"),
        (33, "a/b", ErrorCode.INVALID_REQUEST, "Invalid CIDR notation 'a/b': Could not parse [a/b]"),
        (
            31,
            "10.0.0.0/8",
            ErrorCode.UNSUPPORTED_VERSION,
            "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.",
        ),
    ],
)
def test_what_no_host_may_be(level: int, host: str, code: ErrorCode, said: str) -> None:
    controller = make_controller()
    controller.image.features["metadata.version"] = level
    (error,) = controller.create_acls([Acl(USER, "bob", LITERAL, "User:a", host, ALL, ALLOW)]).value
    assert error is not None
    assert (error.code, error.message) == (code, said)


def test_what_only_a_filter_may_say() -> None:
    assert not says_any(ONE)
    assert all(
        says_any(ONE._replace(**{name: ANY}))
        for name in ("resource_type", "pattern_type", "operation", "permission_type")
    )
    assert says_any(ONE._replace(pattern_type=MATCH))


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (AclFilter(resource_type=99), "Unknown patternFilter."),
        (AclFilter(pattern_type=-1), "Unknown patternFilter."),
        (AclFilter(operation=16), "Unknown entryFilter."),
        (AclFilter(permission_type=4), "Unknown entryFilter."),
    ],
)
def test_a_filter_with_codes_that_there_are_not(odd: AclFilter, words: str) -> None:
    controller = make_controller()
    controller.create_acls([ONE])
    bad, all_ = controller.delete_acls([odd, AclFilter()]).value
    assert isinstance(bad, KafkaError)
    assert (bad.code, bad.message) == (ErrorCode.INVALID_REQUEST, words)
    assert all_ == [ONE]
