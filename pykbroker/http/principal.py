"""Who asks over HTTP, and whether the authorizer allows it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.rights import ANY, BY_KIND, EACH
from pykbroker.process.life import BETWEEN
from pykbroker.security.audit import HTTP
from pykbroker.security.context import RequestContext
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, GROUP, TOPIC, TRANSACTIONAL_ID, TYPE_NAMES, WILDCARD
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pykbroker.http.rights import Right
    from pykbroker.process.node import Node
    from pykbroker.security.authorizer import Authorizer

#: Whoever knows the token, by the page or by a program.
PRINCIPAL: Final = "User:console"
_KINDS: Final = {"topic": TOPIC, "broker": CLUSTER, "group": GROUP}
_OPTIONS: Final = {TOPIC: "--topic", GROUP: "--group", TRANSACTIONAL_ID: "--transactional-id"}
#: Characters of a resource's name that a refusal repeats.
_LONGEST_NAME: Final = 249


class HttpPrincipal:
    """The principal of requests over HTTP, at an address. Without an authorizer it may do everything."""

    def __init__(self, node: Node, host: str, principal: str = PRINCIPAL) -> None:
        self._node = node
        self.host = host
        self.name = principal
        self._context = RequestContext(HTTP, 0, 0, "console", host, "", principal)

    def _authorizer(self) -> Authorizer | None:
        cluster = self._node.current
        if cluster is not None:
            return cluster.authorizer
        if self._node.config["authorizer.class.name"]:
            raise VerbRefused(503, BETWEEN)
        return None

    def may(self, operation: int, resource_type: int, name: str, *, tells: bool = False) -> bool:
        """Whether an operation on a resource is allowed. With ``tells`` a denial is logged. Raises VerbRefused between two clusters."""
        authorizer = self._authorizer()
        return authorizer is None or authorizer.may(self._context, operation, resource_type, name, tells=tells)

    def may_to_all(self, operation: int, resource_type: int) -> bool:
        """Whether an operation is allowed on resources of a type, whatever their names."""
        return self.may(operation, resource_type, WILDCARD)

    def require(self, operation: int, resource_type: int = CLUSTER, name: str = CLUSTER_NAME) -> None:
        """Raises VerbRefused, with the command that allows it, if an operation on a resource is denied."""
        if not self.may(operation, resource_type, name, tells=True):
            raise VerbRefused(403, denied(operation, resource_type, name, self.name))

    def check(self, rights: Iterable[Right], said: Mapping[str, Any]) -> None:
        """Require the rights of an act, whose parameters are ``said``. Raises VerbRefused."""
        for right in rights:
            if right.name == EACH or (right.or_cluster and self.may(right.operation, CLUSTER, CLUSTER_NAME)):
                continue
            if right.name == ANY:
                self._require_any(right)
            else:
                self.require(right.operation, *_resource(right, said))

    def _require_any(self, right: Right) -> None:
        authorizer = self._authorizer()
        if authorizer is not None and not authorizer.may_to_any(self._context, right.operation, right.resource_type):
            raise VerbRefused(403, denied(right.operation, right.resource_type, WILDCARD, self.name))

    def limits(self, operation: int, resource_type: int) -> str | None:
        """What a list of resources says beside it: which of them it leaves out; None if it has all."""
        return (
            None if self.may_to_all(operation, resource_type) else denied(operation, resource_type, WILDCARD, self.name)
        )


def _resource(right: Right, said: Mapping[str, Any]) -> tuple[int, str]:
    """The type and the name of the resource that a right is about."""
    kind = right.resource_type
    if kind == BY_KIND:
        of = said.get("of")
        kind = _KINDS.get(of, CLUSTER) if isinstance(of, str) else CLUSTER
    if kind == CLUSTER:
        return kind, CLUSTER_NAME
    name = said.get(right.name)
    return kind, name if isinstance(name, str) else ""


def denied(operation: int, resource_type: int, name: str, principal: str = PRINCIPAL) -> str:
    """Return the sentence of a denial, with the command that allows it to the principal."""
    words = OPERATION_NAMES[operation].lower().replace("_", "-")
    what = TYPE_NAMES[resource_type].lower().replace("_", " ")
    if resource_type == CLUSTER:
        where, option = "the cluster", "--cluster"
    elif name == WILDCARD:
        where, option = f"every {what}", f"{_OPTIONS[resource_type]} {shlex.quote(name)}"
    elif name and name.isprintable() and len(name) <= _LONGEST_NAME:
        where, option = f"the {what} {name}", f"{_OPTIONS[resource_type]} {shlex.quote(name)}"
    else:
        where, option = f"this {what}", f"{_OPTIONS[resource_type]} NAME"
    how = f"pykbroker acls add --principal {_word_of(principal)} {option} --operation {words}"
    return f"{principal[:_LONGEST_NAME]}, who asks over HTTP, may not {words.replace('-', ' ')} {where}; allow it by: {how}"


def _word_of(principal: str) -> str:
    return shlex.quote(principal) if principal.isprintable() and len(principal) <= _LONGEST_NAME else "User:NAME"
