"""Resource types and pattern types of ACLs (codes of Kafka's ResourceType and PatternType)."""

from __future__ import annotations

UNKNOWN = 0
ANY = 1
TOPIC = 2
GROUP = 3
CLUSTER = 4
TRANSACTIONAL_ID = 5
DELEGATION_TOKEN = 6
USER = 7

#: Kafka's names, by code: in its logs, and in requests and tools.
TYPE_TITLES = ("Unknown", "Any", "Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User")
TYPE_NAMES = ("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")

#: The name of the only resource of type CLUSTER.
CLUSTER_NAME = "kafka-cluster"

#: In filters only: every ACL that applies to a resource of the name.
MATCH = 2
LITERAL = 3
PREFIXED = 4
PATTERN_NAMES = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")

#: As a literal name, every resource of the type; as a host, every host.
WILDCARD = "*"
