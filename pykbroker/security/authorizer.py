"""StandardAuthorizer: decides whether a principal may do something, and caches the decisions, since every request asks.

Decisions are dropped when an ACL is added or removed. ``rules.py`` has the rules, ``audit.py`` the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from pykbroker.security.acl import Acl
from pykbroker.security.audit import AuditLog
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME
from pykbroker.security.rules import SUPER_USER, AclRules, Action, Verdict

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

#: The value of authorizer.class.name.
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

#: Limits on cached decisions and on the names in them, which come from clients. Topic names have at most 249 characters.
_MAX_DECISIONS: Final = 100_000
_LONGEST_NAME: Final = 300
#: (principal, host, operation, resource type, resource name)
_Question = tuple[str, str, int, int, str]


class Authorizer:
    """See the module. ``super_users`` may do everything; ``otherwise`` is allow.everyone.if.no.acl.found. ``now`` is a monotonic
    time in seconds.
    """

    def __init__(
        self,
        super_users: Iterable[str] = (),
        *,
        otherwise: bool = False,
        now: Callable[[], float],
    ) -> None:
        self._super_users = frozenset(super_users)
        self._otherwise = otherwise
        self.rules = AclRules(otherwise=otherwise)
        self._decisions: dict[_Question, Verdict] = {}
        #: Questions that are allowed and need no audit line, topics also by id: callers may look here instead of asking.
        self.granted: set[tuple[str, str, int, int, str | bytes]] = set()
        self._any: dict[tuple[str, str, int, int], bool] = {}
        self._audit = AuditLog(now)

    # ---- ACLs --------------------------------------------------------------------------------------------------------

    def load(self, image: MetadataImage) -> None:
        """Read all ACLs from the metadata."""
        self.rules = AclRules((Acl.of(record) for record in image.acls.values()), otherwise=self._otherwise)
        self.forget()

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Apply added and removed ACLs; a metadata subscriber."""
        del image
        if not delta.acls:
            return
        for record, is_there in delta.acls:
            if is_there:
                self.rules.add(Acl.of(record))
            else:
                self.rules.remove(Acl.of(record))
        self.forget()

    def forget(self) -> None:
        """Drop all cached decisions: the ACLs or the level of the audit log have changed."""
        self._decisions.clear()
        self.granted.clear()
        self._any.clear()

    # ---- questions ---------------------------------------------------------------------------------------------------

    def may(
        self,
        requester: RequestContext,
        operation: int,
        resource_type: int,
        name: str,
        *,
        tells: bool = True,
        count: int = 1,
    ) -> bool:
        """Whether the client may do an operation on a resource. Without ``tells`` a denial is not logged: for checks that only
        filter a response. ``count`` is how often the request names the resource.
        """
        question = (requester.principal, requester.client_host, operation, resource_type, name)
        verdict = self._decisions.get(question)
        if verdict is None:
            verdict = self._decide(question)
        if verdict.allowed:
            if self._audit.tells_allowed():
                self._audit.allowed(requester.api_key, _action(question), verdict, count)
            elif len(name) <= _LONGEST_NAME:
                self.granted.add(question)
        elif tells:
            self._audit.denied(requester.api_key, _action(question), verdict, count)
        return verdict.allowed

    def grant_by_id(
        self, requester: RequestContext, operation: int, resource_type: int, topic_id: bytes, name: str
    ) -> None:
        """Add a topic's id to ``granted`` if its name is there; ids are never reused."""
        who = requester.principal, requester.client_host, operation, resource_type
        if (*who, name) not in self.granted:
            return
        if len(self.granted) >= 2 * _MAX_DECISIONS:  # ids of deleted topics stay until then
            self.forget()
        self.granted.add((*who, topic_id))

    def may_do_to_cluster(self, requester: RequestContext, operation: int, *, tells: bool = True) -> bool:
        """``may`` for the cluster resource."""
        return self.may(requester, operation, CLUSTER, CLUSTER_NAME, tells=tells)

    def may_to_any(self, requester: RequestContext, operation: int, resource_type: int) -> bool:
        """Whether the client may do an operation on any existing or possible resource of a type
        (Authorizer.authorizeByResourceType).
        """
        if self.may(requester, operation, resource_type, "hardcode", tells=False):  # the arbitrary name that Kafka uses
            return True
        question = (requester.principal, requester.client_host, operation, resource_type)
        allowed = self._any.get(question)
        if allowed is None:
            host = as_java_writes(requester.client_host)
            allowed = self.rules.allows_any(requester.principal, host, operation, resource_type)
            self._any[question] = allowed
        return allowed

    def _decide(self, question: _Question) -> Verdict:
        if len(self._decisions) >= _MAX_DECISIONS:
            self.forget()
        verdict = SUPER_USER if question[0] in self._super_users else self.rules.decide(_action(question))
        if len(question[4]) <= _LONGEST_NAME:
            self._decisions[question] = verdict
        return verdict


def _action(question: _Question) -> Action:
    who, host, operation, resource_type, name = question
    return Action(who, as_java_writes(host), operation, resource_type, name)


def as_java_writes(host: str) -> str:
    """An address as in ACLs for Kafka: Java does not shorten IPv6 addresses."""
    if ":" not in host:
        return host
    address, _, zone = host.partition("%")
    parsed = IPv6Address(address)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    written = ":".join(format(int(group, 16), "x") for group in parsed.exploded.split(":"))
    return f"{written}%{zone}" if zone else written
