"""Feature levels (KIP-584): those that a new cluster finalizes, and the ranges that brokers register.

Ranges and levels are those of Kafka 4.4.0, so that either broker can take over the other's metadata log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
GROUP_VERSION = "group.version"
TRANSACTION_VERSION = "transaction.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"
ELR_VERSION = "eligible.leader.replicas.version"
#: The metadata.version since which brokers say which log directories are cordoned: 4.3-IV0.
CORDONED_SINCE = 30

#: Finalized in a new cluster, in the order of Kafka's records. A level of 0 has no entry.
BOOTSTRAP_LEVELS: dict[str, int] = {
    METADATA_VERSION: 33,  # 4.4-IV2
    ELR_VERSION: 1,
    GROUP_VERSION: 1,
    SHARE_VERSION: 2,  # dead letters
    STREAMS_VERSION: 1,
    TRANSACTION_VERSION: 2,  # clients use KIP-890's protocol
}

#: The ranges that brokers register. They cover every level that Apache Kafka 4.4.0 finalizes, so that its metadata logs can
#: be used.
SUPPORTED_RANGES: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (7, 33),
    KRAFT_VERSION: (0, 1),
    GROUP_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
    SHARE_VERSION: (0, 2),
    STREAMS_VERSION: (0, 1),
    ELR_VERSION: (0, 1),
}


class Features(NamedTuple):
    """The levels of a new cluster, and the ranges that its brokers register."""

    bootstrap: Mapping[str, int]
    ranges: Mapping[str, tuple[int, int]]
    #: The metadata.version from which on delegation tokens exist (KIP-900).
    tokens_since: int = 14  # 3.6-IV2


CURRENT = Features(BOOTSTRAP_LEVELS, SUPPORTED_RANGES)
