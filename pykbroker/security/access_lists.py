"""What requests about access lists (ACLs) must say at least, and the refusal of a broker without an authorizer.

Words: AclApis, DescribeAcls of the broker, the others of the controller, Apache Kafka 4.3.1.
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
    Kafka. Other codes are for the controller to know.
    """
    if UNKNOWN in (resource_type, pattern_type, asked.operation, asked.permission_type):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an access list or a filter of it says UNKNOWN")
