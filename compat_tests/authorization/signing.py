"""Asking as somebody: connections that have signed in by SASL/PLAIN, and rights that are given to who asks."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from compat_tests.harness.awaiting import LIMIT_S
from compat_tests.oracle.connection import Connection
from compat_tests.oracle.requests import Ask
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, LITERAL, TOPIC, USER
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

ADMIN = "admin"
#: Passwords of the users of both brokers.
PASSWORD = "{0}-secret"
_ANY = 1


class SignedAsk(Ask):
    """Sets up as the administrator, and asks as a user of its own, who has no right but those that are given."""

    def __init__(self, address: str, version: int, prefix: str, user: str) -> None:
        self.user = user
        self._signing_in = ADMIN
        #: The topics that the user has a right to.
        self.allowed_topics: set[str | None] = set()
        self.may_act_on_cluster = False
        super().__init__(address, version, prefix)
        self._signing_in = user

    def connect(self) -> Connection:
        connection = super().connect()
        sign_in(connection, self._signing_in)
        return connection

    def allow(self, rights: Iterable[tuple[int, str | None, int]]) -> None:
        """Give rights, and wait until the broker goes by them."""
        rights = list(rights)
        self.allowed_topics = {what for resource_type, what, _ in rights if resource_type == TOPIC}
        self.may_act_on_cluster = any(resource_type == CLUSTER for resource_type, _, _ in rights)
        acls = [self._acl(*right) for right in rights]
        if not acls:
            return
        answer = self.quietly(CreateAclsRequest([AclCreation(*acl) for acl in acls]), 3)
        assert all(result.error_code == 0 for result in answer.results), answer
        self._wait_for_rights(len(set(acls)))

    def _wait_for_rights(self, count: int) -> None:
        mine = DescribeAclsRequest(_ANY, None, _ANY, f"User:{self.user}", None, _ANY, _ANY)
        deadline = time.monotonic() + LIMIT_S
        while sum(len(resource.acls) for resource in self.quietly(mine, 3).resources) != count:
            assert time.monotonic() < deadline, self.user
            time.sleep(0.01)

    def take_away(self) -> None:
        """Take the rights away again, before the next ask."""
        self.quietly(DeleteAclsRequest([DeleteAclsFilter(_ANY, None, _ANY, f"User:{self.user}", None, _ANY, _ANY)]), 3)
        self._wait_for_rights(0)

    def quietly_as_user(self, request: Message) -> Any:
        """Asks as the user; nothing is kept."""
        return self.connect().ask(request, self.version)

    def until_ready(self, request: Message, version: int) -> Any:
        """Asks as the administrator until the coordinator is ready."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.quietly(request, version)
            if answer.error_code == 0:
                return answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.01)

    def _acl(self, resource_type: int, what: str | None, operation: int) -> Acl:
        name = CLUSTER_NAME if resource_type == CLUSTER else self.name(what or "")
        if resource_type == USER:
            name = f"User:{name}"
        return Acl(resource_type, name, LITERAL, f"User:{self.user}", "*", operation, ALLOW)


def sign_in(connection: Connection, user: str) -> None:
    """SASL/PLAIN, as every client does it."""
    connection.ask(SaslHandshakeRequest("PLAIN"), 1)
    answer = connection.ask(SaslAuthenticateRequest(f"\0{user}\0{PASSWORD.format(user)}".encode()), 2)
    assert answer.error_code == 0, answer
