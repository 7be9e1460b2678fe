"""Where our answers about settings differ from Apache Kafka 4.3.1's on purpose: step -> reason.

The test fails for a difference that is not here, and for one here that is no more.
"""

from __future__ import annotations

_ELR = "eligible leader replicas are not served: Kafka, which has them, sets min.insync.replicas for all brokers"

_OUR_DEFAULT = "a default of ours (pykbroker/config/differences.py)"

DIFFERENCES = {
    "describe(32, 'settings-g')": _OUR_DEFAULT,
    "describe(4, '1', 'log.retention.ms', 'log.retention.hours', 'node.id', 'broker.id', 'num.partitions')": _OUR_DEFAULT,
    "describe(2, 'settings-t')": _ELR,
    "describe(4, '')": _ELR,
    "create('settings-t', ('retention.ms', '1000'))": _ELR,
    "create('settings-b')": _ELR,
    "create('settings-c', validate_only=True)": _ELR,
    "create('settings-u', ('preallocate', ' TRUE '), ('cleanup.policy', 'delete, compact'), validate_only=True)": _ELR,
}
