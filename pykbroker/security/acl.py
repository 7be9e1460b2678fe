"""An ACL (access control entry) and an ACL filter, as values."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple, Protocol

from pykbroker.security import resources
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import ANY, LITERAL, MATCH, PATTERN_NAMES, PREFIXED, TYPE_NAMES, WILDCARD

DENY = 2
ALLOW = 3
#: Kafka's names, by code.
PERMISSION_NAMES = ("UNKNOWN", "ANY", "DENY", "ALLOW")

#: The principal that stands for all users.
EVERYBODY = "User:*"


class AclRecord(Protocol):
    """An ACL as a record of the metadata log."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class Acl(NamedTuple):
    """An operation on resources, allowed or denied to a principal from a host."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def of(cls, record: AclRecord) -> Acl:
        return cls(*_fields_of(record))


_fields_of = attrgetter(*Acl._fields)


class AclFilter(NamedTuple):
    """The fields that ACLs must have; ANY and None match everything. Names are matched by ``_is_named``."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission_type: int = ANY

    @property
    def only(self) -> Acl | None:
        """The one ACL that matches; None if a field is left open."""
        type_, name, pattern, principal, host, operation, permission = self
        if name is None or principal is None or host is None:
            return None
        if pattern == MATCH or ANY in (type_, pattern, operation, permission):
            return None
        return Acl(type_, name, pattern, principal, host, operation, permission)

    def matches(self, acl: Acl) -> bool:
        """Whether the ACL passes the filter. Hosts and principals are compared as text: ``*`` matches ACLs with ``*`` only."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._is_named(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _is_named(self, acl: Acl) -> bool:
        """Whether the resource pattern passes. MATCH with a name matches every pattern that applies to that resource."""
        if self.pattern_type not in (ANY, MATCH, acl.pattern_type):
            return False
        if self.resource_name is None or self.resource_name == acl.resource_name:
            return True
        if self.pattern_type != MATCH:
            return False
        if acl.pattern_type == LITERAL:
            return acl.resource_name == WILDCARD
        return acl.pattern_type == PREFIXED and self.resource_name.startswith(acl.resource_name)


def name_of(code: int, names: tuple[str, ...]) -> str:
    """Kafka's name of a code; UNKNOWN for other codes, as in Kafka."""
    return names[code] if 0 <= code < len(names) else names[resources.UNKNOWN]


def as_kafka_writes(acl: Acl) -> str:
    """An ACL in the form of Kafka's authorizer log."""
    return (
        f"StandardAcl(resourceType={name_of(acl.resource_type, TYPE_NAMES)}, resourceName={acl.resource_name}, "
        f"patternType={name_of(acl.pattern_type, PATTERN_NAMES)}, principal={acl.principal}, host={acl.host}, "
        f"operation={name_of(acl.operation, OPERATION_NAMES)}, "
        f"permissionType={name_of(acl.permission_type, PERMISSION_NAMES)})"
    )
