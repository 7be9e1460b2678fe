"""Access lists (ACLs): what their requests must say, and the refusal of a broker without an authorizer.

None is kept or enforced here, so every request that is in order is answered SECURITY_DISABLED. Words: AclApis, DescribeAcls
of the broker, the others of the controller, Apache Kafka 4.3.1.
"""

from __future__ import annotations

from typing import Final, Protocol

from pykbroker.wire.errors import ErrorCode, KafkaError

UNKNOWN: Final = 0

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_AUTHORIZER_ON_THE_BROKER: Final = "No Authorizer is configured on the broker"


class Codes(Protocol):
    """An access list, or a filter of them: whom it concerns does not matter here."""

    operation: int
    permission_type: int


def check_codes(asked: Codes, resource_type: int, pattern_type: int) -> None:
    """Refuse UNKNOWN for a type, operation or permission: KafkaError INVALID_REQUEST, which ends the connection, as in Apache
    Kafka. Other codes are for the authorizer to know.
    """
    if UNKNOWN in (resource_type, pattern_type, asked.operation, asked.permission_type):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an access list or a filter of it says UNKNOWN")
