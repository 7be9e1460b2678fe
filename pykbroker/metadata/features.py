"""Feature levels (KIP-584): what a new cluster finalizes, and what a broker registers to support.

Ranges and levels are those of Kafka 4.3.1, so that either broker can take over the other's metadata log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
GROUP_VERSION = "group.version"
TRANSACTION_VERSION = "transaction.version"
ELR_VERSION = "eligible.leader.replicas.version"

#: Finalized when a log directory is new, in the order of Kafka's records. A level of 0 is said by absence.
BOOTSTRAP_LEVELS: dict[str, int] = {
    METADATA_VERSION: 30,  # 4.3-IV0
    ELR_VERSION: 1,
    GROUP_VERSION: 1,
    TRANSACTION_VERSION: 2,  # clients use KIP-890's protocol
}

#: What brokers register. It must cover every level that Apache Kafka 4.3.1 finalizes, or a log of its could not be used.
SUPPORTED_RANGES: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (7, 30),
    KRAFT_VERSION: (0, 1),
    GROUP_VERSION: (0, 1),
    TRANSACTION_VERSION: (0, 2),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    ELR_VERSION: (0, 1),
}


class Features(NamedTuple):
    """What a cluster may finalize: the levels that a new one begins with, and the ranges that its brokers register."""

    bootstrap: Mapping[str, int]
    ranges: Mapping[str, tuple[int, int]]
    #: The level of the metadata from which on there are delegation tokens (KIP-900).
    tokens_since: int = 14  # 3.6-IV2


CURRENT = Features(BOOTSTRAP_LEVELS, SUPPORTED_RANGES)
