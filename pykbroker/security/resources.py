"""What access lists are about: types of resources, and how a list names them (codes of ResourceType and PatternType)."""

from __future__ import annotations

UNKNOWN = 0
ANY = 1
TOPIC = 2
GROUP = 3
CLUSTER = 4
TRANSACTIONAL_ID = 5
DELEGATION_TOKEN = 6
USER = 7

#: Kafka's names, by code: as its logs write them, and as requests and tools do.
TYPE_TITLES = ("Unknown", "Any", "Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User")
TYPE_NAMES = ("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")

#: The only name that a resource of type CLUSTER has.
CLUSTER_NAME = "kafka-cluster"

#: For a filter: every list that would apply to a resource of the name.
MATCH = 2
LITERAL = 3
PREFIXED = 4
PATTERN_NAMES = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")

#: As a literal name: every resource of the type. As a host: every host.
WILDCARD = "*"
