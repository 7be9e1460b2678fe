"""An index of a cluster's ACLs, and the decisions that follow from them; pure, without time, log or cache.

The rules are those of Kafka 4.4.0's StandardAuthorizerData: an ACL that denies wins over all that allow, whether its pattern
is the name, a prefix or the wildcard; the default applies only to resources that no ACL matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pykbroker.security import operations
from pykbroker.security.acl import DENY, EVERYBODY, Acl
from pykbroker.security.host_patterns import matches
from pykbroker.security.resources import LITERAL, PREFIXED, WILDCARD

#: Operations that allow another one. Denials imply nothing.
_IMPLIED_BY = {
    operations.DESCRIBE: frozenset(
        (operations.DESCRIBE, operations.READ, operations.WRITE, operations.DELETE, operations.ALTER)
    ),
    operations.DESCRIBE_CONFIGS: frozenset((operations.DESCRIBE_CONFIGS, operations.ALTER_CONFIGS)),
}


class Action(NamedTuple):
    """An operation on a resource by a principal from a host (an address as text)."""

    principal: str
    host: str
    operation: int
    resource_type: int
    resource_name: str


class Verdict(NamedTuple):
    """A decision, and the ACL that made it; None for a default."""

    allowed: bool
    acl: Acl | None = None


_DENIED_BY_DEFAULT = Verdict(allowed=False)
#: The verdict on every action of a super user.
SUPER_USER = Verdict(allowed=True)


class _ByName:
    """ACLs for resources of one type, by name."""

    def __init__(self) -> None:
        self.literal: dict[str, dict[Acl, None]] = {}
        self.prefixed: dict[str, dict[Acl, None]] = {}
        #: The number of prefixes by length.
        self.lengths: Counter[int] = Counter()

    def add(self, acl: Acl) -> None:
        if acl.pattern_type == PREFIXED:
            if acl.resource_name not in self.prefixed:
                self.lengths[len(acl.resource_name)] += 1
            self.prefixed.setdefault(acl.resource_name, {})[acl] = None
        elif acl.pattern_type == LITERAL:
            self.literal.setdefault(acl.resource_name, {})[acl] = None

    def remove(self, acl: Acl) -> None:
        names = self.prefixed if acl.pattern_type == PREFIXED else self.literal
        found = names[acl.resource_name]
        del found[acl]
        if found:
            return
        del names[acl.resource_name]
        if acl.pattern_type == PREFIXED:
            length = len(acl.resource_name)
            self.lengths[length] -= 1
            if not self.lengths[length]:
                del self.lengths[length]

    def about(self, name: str) -> Iterator[Acl]:
        """The ACLs that match a resource name."""
        yield from self.literal.get(name, ())
        if name != WILDCARD:
            yield from self.literal.get(WILDCARD, ())
        for length in self.lengths:
            if length <= len(name):
                yield from self.prefixed.get(name[:length], ())

    def __iter__(self) -> Iterator[Acl]:
        for names in (self.literal, self.prefixed):
            for acls in names.values():
                yield from acls


class AclRules:
    """See the module. ``otherwise`` is the decision for resources that no ACL matches."""

    def __init__(self, acls: Iterable[Acl] = (), *, otherwise: bool = False) -> None:
        self._otherwise = Verdict(otherwise)
        #: Of each type of resource, all ACLs (principal None), and those of each principal: others are not looked at.
        self._lists: dict[tuple[int, str | None], _ByName] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        for principal in (None, acl.principal):
            self._lists.setdefault((acl.resource_type, principal), _ByName()).add(acl)

    def remove(self, acl: Acl) -> None:
        """Remove an ACL that was added."""
        for key in ((acl.resource_type, None), (acl.resource_type, acl.principal)):
            lists = self._lists[key]
            lists.remove(acl)
            if not (lists.literal or lists.prefixed):
                del self._lists[key]

    def decide(self, action: Action) -> Verdict:
        """The decision on an action."""
        verdict = None
        for lists in self._of(action.resource_type, action.principal):
            for acl in lists.about(action.resource_name):
                if not _applies(acl, action):
                    continue
                if acl.permission_type == DENY:
                    return Verdict(allowed=False, acl=acl)
                verdict = Verdict(allowed=True, acl=acl)
        if verdict is not None:
            return verdict
        everyone = self._lists.get((action.resource_type, None))
        is_named = everyone is not None and next(everyone.about(action.resource_name), None) is not None
        return _DENIED_BY_DEFAULT if is_named else self._otherwise

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether some possible resource of the type has an ACL that allows the operation and none that denies it
        (Authorizer.authorizeByResourceType).
        """
        lists = [
            acl
            for lists in self._of(resource_type, principal)
            for acl in lists
            if matches(acl.host, host) and acl.operation in (operation, operations.ALL)
        ]
        denied = {(acl.pattern_type, acl.resource_name) for acl in lists if acl.permission_type == DENY}
        if (LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_dominated(acl, denied) for acl in lists if acl.permission_type != DENY)

    def _of(self, resource_type: int, principal: str) -> Iterator[_ByName]:
        """The ACLs of a principal, and of everybody."""
        for who in (principal, EVERYBODY) if principal != EVERYBODY else (EVERYBODY,):
            lists = self._lists.get((resource_type, who))
            if lists is not None:
                yield lists


def _is_dominated(allowing: Acl, denied: set[tuple[int, str]]) -> bool:
    """Whether everything that an ACL allows is denied by others."""
    name = allowing.resource_name
    if allowing.pattern_type == LITERAL:
        if name == WILDCARD:
            return False
        if (LITERAL, name) in denied:
            return True
    return any((PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


def _applies(acl: Acl, action: Action) -> bool:
    """Whether an ACL that matches the resource and the principal also matches the action's host and operation."""
    if not matches(acl.host, action.host):
        return False
    if acl.operation in (action.operation, operations.ALL):
        return True
    return acl.permission_type != DENY and acl.operation in _IMPLIED_BY.get(action.operation, ())
