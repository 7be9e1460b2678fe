"""What a client may do to a group, as answers tell it."""

from __future__ import annotations

#: Bits of what everybody may do while there is no authorizer: READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and
#: ALTER_CONFIGS, by the numbers of org.apache.kafka.common.acl.AclOperation.
GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
