"""StandardAuthorizer: may somebody do something? Asked of every request, so what was decided is remembered.

A decision is good until the next access list comes or goes. Order and wording of the rules: ``rules.py``; what is logged:
``audit.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from pykbroker.security.acl import Acl
from pykbroker.security.audit import AuditLog
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME
from pykbroker.security.rules import SUPER_USER, Action, Rules, Verdict

if TYPE_CHECKING:
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

#: The class that this is, as ``authorizer.class.name`` names it.
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

#: Decisions kept: names come from clients, so there is an end of their number, and of their length. Topics have 249 characters.
_MAX_DECISIONS: Final = 100_000
_LONGEST_NAME: Final = 300
#: Who, from where, what, the type of the resource, its name.
_Question = tuple[str, str, int, int, str]


class Authorizer:
    """See the module. ``super_users`` may do everything; ``otherwise`` says whether everybody may do what no list is about."""

    def __init__(
        self,
        super_users: Iterable[str] = (),
        *,
        otherwise: bool = False,
        now: Callable[[], float],
    ) -> None:
        self._super_users = frozenset(super_users)
        self._otherwise = otherwise
        self.rules = Rules(otherwise=otherwise)
        self._decisions: dict[_Question, Verdict] = {}
        #: What was allowed, for who need not be told (``AuditLog``), topics also by their ids: whoever finds a question here
        #: need not ask it.
        self.granted: set[tuple[str, str, int, int, str | bytes]] = set()
        self._any: dict[tuple[str, str, int, int], bool] = {}
        self._audit = AuditLog(now)

    # ---- the lists ---------------------------------------------------------------------------------------------------

    def load(self, image: MetadataImage) -> None:
        """Begin with what the metadata holds."""
        self.rules = Rules((Acl.of(record) for record in image.acls.values()), otherwise=self._otherwise)
        self.forget()

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A subscriber of the metadata."""
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
        """Decide anew: the lists have changed, or what is logged of them."""
        self._decisions.clear()
        self.granted.clear()
        self._any.clear()

    # ---- questions ---------------------------------------------------------------------------------------------------

    def may(
        self,
        asker: RequestContext,
        operation: int,
        resource_type: int,
        name: str,
        *,
        tells: bool = True,
        count: int = 1,
    ) -> bool:
        """Whether the asker may do it. ``tells`` is false where a refusal is no refusal of what was asked for, and no line
        in the log; ``count`` is how often the request names the resource.
        """
        question = (asker.principal, asker.client_host, operation, resource_type, name)
        verdict = self._decisions.get(question)
        if verdict is None:
            verdict = self._decide(question)
        if verdict.allowed:
            if self._audit.tells_allowed():
                self._audit.allowed(asker.api_key, _action(question), verdict, count)
            elif len(name) <= _LONGEST_NAME:
                self.granted.add(question)
        elif tells:
            self._audit.denied(asker.api_key, _action(question), verdict, count)
        return verdict.allowed

    def grant_by_id(
        self, asker: RequestContext, operation: int, resource_type: int, topic_id: bytes, name: str
    ) -> None:
        """What was allowed of a topic by its name holds for its id, which no other topic will ever have."""
        who = asker.principal, asker.client_host, operation, resource_type
        if (*who, name) not in self.granted:
            return
        if len(self.granted) >= 2 * _MAX_DECISIONS:  # of topics that come and go by the thousand
            self.forget()
        self.granted.add((*who, topic_id))

    def may_do_to_cluster(self, asker: RequestContext, operation: int, *, tells: bool = True) -> bool:
        """``may``, of the cluster itself."""
        return self.may(asker, operation, CLUSTER, CLUSTER_NAME, tells=tells)

    def may_to_any(self, asker: RequestContext, operation: int, resource_type: int) -> bool:
        """Whether the asker may do it to any resource of a type that there is, or could be."""
        if self.may(asker, operation, resource_type, "hardcode", tells=False):  # a name as good as any: Kafka's
            return True
        question = (asker.principal, asker.client_host, operation, resource_type)
        allowed = self._any.get(question)
        if allowed is None:
            host = as_java_writes(asker.client_host)
            allowed = self.rules.allows_any(asker.principal, host, operation, resource_type)
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
    """An address as access lists for Kafka have it: Java does not shorten those of version 6."""
    if ":" not in host:
        return host
    from ipaddress import IPv6Address  # noqa: PLC0415 - few have one

    address, _, zone = host.partition("%")
    parsed = IPv6Address(address)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    written = ":".join(format(int(group, 16), "x") for group in parsed.exploded.split(":"))
    return f"{written}%{zone}" if zone else written
