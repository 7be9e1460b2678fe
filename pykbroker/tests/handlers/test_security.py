"""What is said of access lists, delegation tokens and SASL where nobody signs in and nobody is kept out."""

from __future__ import annotations

import pytest

from pykbroker.handlers import (
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from pykbroker.handlers.contract import CloseConnection
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

ALLOWED = (2, "t", 3, "User:alice", "*", 3, 3)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_access_lists_need_an_authorizer(version: int) -> None:
    broker = MemoryCluster()
    described = broker.ask(DescribeAclsRequest(*ALLOWED), version)
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    assert described.error_message == "No Authorizer is configured on the broker"
    created = broker.ask(CreateAclsRequest([AclCreation(*ALLOWED)] * 2), version)
    deleted = broker.ask(DeleteAclsRequest([DeleteAclsFilter(*ALLOWED)] * 2), version)
    for results in (created.results, deleted.filter_results):
        assert [(each.error_code, each.error_message) for each in results] == [
            (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
        ] * 2
    assert broker.image.acls == {}


@pytest.mark.parametrize("place", [0, 2, 5, 6])
def test_an_access_list_that_says_unknown_ends_the_connection(place: int) -> None:
    odd = (*ALLOWED[:place], 0, *ALLOWED[place + 1 :])
    for request in (
        DescribeAclsRequest(*odd),
        CreateAclsRequest([AclCreation(*ALLOWED), AclCreation(*odd)]),
        DeleteAclsRequest([DeleteAclsFilter(*ALLOWED), DeleteAclsFilter(*odd)]),
    ):
        with pytest.raises(CloseConnection, match="UNKNOWN"):
            MemoryCluster().ask(request, 3)


@pytest.mark.parametrize(
    ("module", "request_"),
    [
        (renew_delegation_token, RenewDelegationTokenRequest(b"some", 1)),
        (expire_delegation_token, ExpireDelegationTokenRequest(b"some", 1)),
        (describe_delegation_token, DescribeDelegationTokenRequest(None)),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_there_are_no_delegation_tokens(module, request_, version: int) -> None:
    answer = MemoryCluster().ask(request_, version)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize(
    ("version", "owner", "named"),
    [
        (1, ("", ""), ("User", "ANONYMOUS")),
        (2, ("", ""), ("User", "ANONYMOUS")),
        (3, ("User", "alice"), ("User", "alice")),
        (3, ("", "alice"), ("", "alice")),
        (3, ("User", None), ("User", "ANONYMOUS")),
    ],
)
def test_no_token_is_created_for_an_owner(version: int, owner, named) -> None:
    answer = MemoryCluster().ask(CreateDelegationTokenRequest(*owner), version)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_type, answer.principal_name) == named
    requester = (answer.token_requester_principal_type, answer.token_requester_principal_name)
    assert requester == (("User", "ANONYMOUS") if version >= 3 else ("", ""))
    assert (answer.issue_timestamp_ms, answer.token_id, answer.hmac) == (-1, "", b"")


def test_an_owner_without_a_type_is_nobody() -> None:
    answer = MemoryCluster().ask(CreateDelegationTokenRequest(None, "alice"), 3)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (answer.principal_type, answer.principal_name, answer.expiry_timestamp_ms) == ("User", "ANONYMOUS", -1)


def test_nobody_signs_in() -> None:
    broker = MemoryCluster()
    for version in (0, 1):
        shaken = broker.ask(SaslHandshakeRequest("PLAIN"), version)
        assert (shaken.error_code, shaken.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    for version in (0, 1, 2):
        refused = broker.ask(SaslAuthenticateRequest(b"\0alice\0secret"), version)
        assert (refused.error_code, refused.auth_bytes) == (ErrorCode.ILLEGAL_SASL_STATE, b"")
