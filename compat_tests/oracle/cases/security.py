"""What needs an authorizer, a secret key or SASL, asked of brokers that have none: access lists, delegation tokens, SASL."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

UNKNOWN, ANY, TOPIC, CLUSTER, TRANSACTIONAL_ID = 0, 1, 2, 4, 5
MATCH, LITERAL, PREFIXED = 2, 3, 4
READ, ALLOW = 3, 3

#: Type and name of a resource, pattern type, principal, host, operation, permission.
Access = tuple[int, str | None, int, str | None, str | None, int, int]
EVERY: Access = (ANY, None, ANY, None, None, ANY, ANY)
GOOD: Access = (TOPIC, "t", LITERAL, "User:alice", "*", READ, ALLOW)

#: What an access list may say wrongly, or a filter only: one word of ``GOOD`` is another.
UNUSUAL: tuple[Access, ...] = tuple(
    (*GOOD[:place], value, *GOOD[place + 1 :])  # type: ignore[misc]
    for place, values in (
        (0, (UNKNOWN, ANY, CLUSTER, 7, 8, 99, -1)),
        (1, ("", "no/topic", "*", "x" * 300)),
        (2, (UNKNOWN, ANY, MATCH, PREFIXED, 5, 99, -1)),
        (3, ("", "alice", "User:", "User:*", "Group:a:b")),
        (4, ("", "not a host")),
        (5, (UNKNOWN, ANY, 2, 15, 16, 99, -1)),
        (6, (UNKNOWN, ANY, 2, 4, 99, -1)),
    )
    for value in values
)


@case(ApiKey.DESCRIBE_ACLS)
def access_lists_that_are_described(ask: Ask) -> None:
    ask(DescribeAclsRequest(*EVERY))
    ask(DescribeAclsRequest(*GOOD))
    for filter_ in UNUSUAL:
        ask(DescribeAclsRequest(*filter_))


@case(ApiKey.CREATE_ACLS)
def access_lists_that_are_created(ask: Ask) -> None:
    ask(CreateAclsRequest([]))
    ask(CreateAclsRequest([AclCreation(*GOOD)]))
    ask(CreateAclsRequest([AclCreation(*GOOD), AclCreation(*GOOD), AclCreation(TRANSACTIONAL_ID, "id", *GOOD[2:])]))
    for creation in UNUSUAL:
        ask(CreateAclsRequest([AclCreation(*creation), AclCreation(*GOOD)]))


@case(ApiKey.DELETE_ACLS)
def access_lists_that_are_deleted(ask: Ask) -> None:
    ask(DeleteAclsRequest([]))
    ask(DeleteAclsRequest([DeleteAclsFilter(*EVERY)]))
    ask(DeleteAclsRequest([DeleteAclsFilter(*GOOD), DeleteAclsFilter(*GOOD)]))
    for filter_ in UNUSUAL:
        ask(DeleteAclsRequest([DeleteAclsFilter(*filter_), DeleteAclsFilter(*GOOD)]))


@case(ApiKey.CREATE_DELEGATION_TOKEN)
def a_token_that_is_created(ask: Ask) -> None:
    ask(CreateDelegationTokenRequest("", "", [], -1))
    ask(CreateDelegationTokenRequest(max_lifetime_ms=-5))
    ask(CreateDelegationTokenRequest(renewers=[CreatableRenewers("User", "alice"), CreatableRenewers("", "")]))
    ask(CreateDelegationTokenRequest(renewers=[CreatableRenewers("Group", "all")], max_lifetime_ms=1000))


@case(ApiKey.CREATE_DELEGATION_TOKEN, since=3)
def a_token_for_somebody_else(ask: Ask) -> None:
    for owner in (
        ("User", "alice"),
        ("Group", "all"),
        ("User", ""),
        ("", "alice"),
        (None, None),
        ("User", None),
        (None, "alice"),
    ):
        ask(CreateDelegationTokenRequest(*owner))


@case(ApiKey.RENEW_DELEGATION_TOKEN)
def a_token_that_is_renewed(ask: Ask) -> None:
    for hmac, period_ms in ((b"", 0), (b"some", 1000), (b"some", -1)):
        ask(RenewDelegationTokenRequest(hmac, period_ms))


@case(ApiKey.EXPIRE_DELEGATION_TOKEN)
def a_token_that_expires(ask: Ask) -> None:
    for hmac, period_ms in ((b"", 0), (b"some", 1000), (b"some", -1)):
        ask(ExpireDelegationTokenRequest(hmac, period_ms))


@case(ApiKey.DESCRIBE_DELEGATION_TOKEN)
def tokens_that_are_described(ask: Ask) -> None:
    ask(DescribeDelegationTokenRequest(None))
    ask(DescribeDelegationTokenRequest([]))
    ask(DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("User", "alice")] * 2))
    ask(DescribeDelegationTokenRequest([DescribeDelegationTokenOwner("", "")]))


@case(ApiKey.SASL_HANDSHAKE)
def a_handshake_without_sasl(ask: Ask) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "GSSAPI", "", "nonsense"):
        ask(SaslHandshakeRequest(mechanism))


@case(ApiKey.SASL_AUTHENTICATE)
def a_password_without_sasl(ask: Ask) -> None:
    for password in (b"\0alice\0secret", b""):
        ask(SaslAuthenticateRequest(password))
