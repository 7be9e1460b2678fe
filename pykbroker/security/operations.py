"""Authorized operations as answers carry them: bit n stands for the operation with code n (KIP-430).

Codes: org.apache.kafka.common.acl.AclOperation; which apply to what: AclEntry.supportedOperations, Kafka 4.3.1.
"""

from __future__ import annotations

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

#: The field's default: the client did not ask.
NOT_ASKED = -(2**31)


def operation_bits(*operations: int) -> int:
    """The operations as one number."""
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS = operation_bits(READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
CLUSTER_OPERATIONS = operation_bits(
    CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE
)
GROUP_OPERATIONS = operation_bits(READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)
