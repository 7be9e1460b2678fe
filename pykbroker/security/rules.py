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


class _OfType:
    """The ACLs for resources of one type, by name."""

    def __init__(self) -> None:
        self.literal: dict[str, list[Acl]] = {}
        self.prefixed: dict[str, list[Acl]] = {}
        #: The number of prefixes by length.
        self.lengths: Counter[int] = Counter()

    def add(self, acl: Acl) -> None:
        if acl.pattern_type == PREFIXED:
            if acl.resource_name not in self.prefixed:
                self.lengths[len(acl.resource_name)] += 1
            self.prefixed.setdefault(acl.resource_name, []).append(acl)
        elif acl.pattern_type == LITERAL:
            self.literal.setdefault(acl.resource_name, []).append(acl)

    def remove(self, acl: Acl) -> None:
        names = self.prefixed if acl.pattern_type == PREFIXED else self.literal
        found = names[acl.resource_name]
        found.remove(acl)
        if found:
            return
        del names[acl.resource_name]
        if acl.pattern_type == PREFIXED:
            self.lengths[len(acl.resource_name)] -= 1
            self.lengths += Counter()  # removes zero counts

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
        self._by_type: dict[int, _OfType] = {}
        for acl in acls:
            self.add(acl)

    def add(self, acl: Acl) -> None:
        self._by_type.setdefault(acl.resource_type, _OfType()).add(acl)

    def remove(self, acl: Acl) -> None:
        """Remove an ACL that was added."""
        self._by_type[acl.resource_type].remove(acl)

    def decide(self, action: Action) -> Verdict:
        """The decision on an action."""
        of_type = self._by_type.get(action.resource_type)
        verdict = self._otherwise
        for acl in () if of_type is None else of_type.about(action.resource_name):
            if not _applies(acl, action):
                if verdict is self._otherwise:
                    verdict = _DENIED_BY_DEFAULT
            elif acl.permission_type == DENY:
                return Verdict(allowed=False, acl=acl)
            else:
                verdict = Verdict(allowed=True, acl=acl)
        return verdict

    def allows_any(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether some possible resource of the type has an ACL that allows the operation and none that denies it
        (Authorizer.authorizeByResourceType).
        """
        lists = [
            acl
            for acl in self._by_type.get(resource_type, ())
            if matches(acl.host, host)
            and acl.principal in (principal, EVERYBODY)
            and acl.operation in (operation, operations.ALL)
        ]
        denied = {(acl.pattern_type, acl.resource_name) for acl in lists if acl.permission_type == DENY}
        if (LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_dominated(acl, denied) for acl in lists if acl.permission_type != DENY)


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
    """Whether an ACL that matches the resource also matches the action's principal, host and operation."""
    if acl.principal not in (action.principal, EVERYBODY) or not matches(acl.host, action.host):
        return False
    if acl.operation in (action.operation, operations.ALL):
        return True
    return acl.permission_type != DENY and acl.operation in _IMPLIED_BY.get(action.operation, ())
