"""Random ids for topics, directories and broker incarnations.

As org.apache.kafka.common.Uuid.randomUuid makes them: version 4, never one of the reserved ids, and never one whose
text begins with a dash, which a command line would take for an option.
"""

from __future__ import annotations

import random

#: "No id", and the id of the metadata log itself (which is also the smallest of 100 reserved ones).
ZERO_ID = bytes(16)
CLUSTER_METADATA_ID = (1).to_bytes(16, "big")
#: What stands for the directory of a replica (KIP-858): not noted yet by a cluster that is older; not chosen yet; offline.
MIGRATING, UNASSIGNED, LOST = (n.to_bytes(16, "big") for n in range(3))
_RESERVED = 100
_DASH = 62  # the base64url digit "-"


def is_reserved(directory: bytes) -> bool:
    """Whether no log directory may have this id."""
    return int.from_bytes(directory, "big") < _RESERVED


def random_id(rng: random.Random) -> bytes:
    """A new 16-byte id."""
    while True:
        raw = bytearray(rng.randbytes(16))
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        if raw[0] >> 2 != _DASH and int.from_bytes(raw, "big") >= _RESERVED:
            return bytes(raw)
