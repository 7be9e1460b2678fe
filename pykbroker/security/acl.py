"""One access list entry (ACL), and a filter of them: values without behaviour but for comparing."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pykbroker.security import resources
from pykbroker.security.operations import OPERATION_NAMES
from pykbroker.security.resources import ANY, LITERAL, MATCH, PATTERN_NAMES, PREFIXED, TYPE_NAMES, WILDCARD

DENY = 2
ALLOW = 3
#: Kafka's names, by code.
PERMISSION_NAMES = ("UNKNOWN", "ANY", "DENY", "ALLOW")

#: As a principal: everybody.
EVERYBODY = "User:*"


class AclRecord(Protocol):
    """An entry as the metadata log holds it."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class Acl(NamedTuple):
    """What is allowed or denied, of which resources, to whom, from where."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @classmethod
    def of(cls, record: AclRecord) -> Acl:
        return cls(*(getattr(record, name) for name in cls._fields))


class AclFilter(NamedTuple):
    """What entries must have; ANY and None ask for nothing. See ``_is_named``."""

    resource_type: int = ANY
    resource_name: str | None = None
    pattern_type: int = ANY
    principal: str | None = None
    host: str | None = None
    operation: int = ANY
    permission_type: int = ANY

    def matches(self, acl: Acl) -> bool:
        """Whether an entry is meant. A host or a principal is its own text here: ``*`` means entries that say ``*``."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._is_named(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _is_named(self, acl: Acl) -> bool:
        """MATCH with a name means every pattern that would apply to a resource of that name."""
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
    """Kafka's name for a code; one that it does not have is UNKNOWN, as in Kafka."""
    return names[code] if 0 <= code < len(names) else names[resources.UNKNOWN]


def as_kafka_writes(acl: Acl) -> str:
    """An entry as Kafka's log has it."""
    return (
        f"StandardAcl(resourceType={name_of(acl.resource_type, TYPE_NAMES)}, resourceName={acl.resource_name}, "
        f"patternType={name_of(acl.pattern_type, PATTERN_NAMES)}, principal={acl.principal}, host={acl.host}, "
        f"operation={name_of(acl.operation, OPERATION_NAMES)}, "
        f"permissionType={name_of(acl.permission_type, PERMISSION_NAMES)})"
    )
