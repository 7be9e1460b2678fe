"""Validation that all ACL requests share, and the errors of a broker without an authorizer.

The messages are those of Apache Kafka 4.4.0: of the broker's AclApis for DescribeAcls, of the controller's for the others.
"""

from __future__ import annotations

from typing import Final, Protocol

from pykbroker.wire.errors import ErrorCode, KafkaError

UNKNOWN: Final = 0

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_AUTHORIZER_ON_THE_BROKER: Final = "No Authorizer is configured on the broker"


class Codes(Protocol):
    """The codes of an ACL or of an ACL filter."""

    operation: int
    permission_type: int


def check_codes(requested: Codes, resource_type: int, pattern_type: int) -> None:
    """Refuse UNKNOWN as a type, operation or permission. Raises KafkaError INVALID_REQUEST, which closes the connection, as in
    Apache Kafka. The controller checks other codes.
    """
    if UNKNOWN in (resource_type, pattern_type, requested.operation, requested.permission_type):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an ACL or an ACL filter has the code UNKNOWN")
