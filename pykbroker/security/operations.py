"""Operations on resources, and their encoding in responses as bits: bit n is the operation with code n (KIP-430).

Codes are those of org.apache.kafka.common.acl.AclOperation, ``SUPPORTED`` is AclEntry.supportedOperations (Kafka 4.4.0).
"""

from __future__ import annotations

from pykbroker.security.resources import CLUSTER, GROUP, TOPIC

ALL = 2
READ = 3
WRITE = 4
CREATE = 5
DELETE = 6
ALTER = 7
DESCRIBE = 8
CLUSTER_ACTION = 9
DESCRIBE_CONFIGS = 10
ALTER_CONFIGS = 11
IDEMPOTENT_WRITE = 12
CREATE_TOKENS = 13
DESCRIBE_TOKENS = 14
TWO_PHASE_COMMIT = 15

#: Kafka's names, by code.
OPERATION_NAMES = (
    *("UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
    *("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
)

#: The default of the response fields, if the request does not ask for operations.
NOT_ASKED = -(2**31)

#: The operations on a resource type that responses list.
SUPPORTED = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE),
}


def operation_bits(*operations: int) -> int:
    """The operations as bits."""
    return sum(1 << operation for operation in operations)
