"""Where our answers about settings differ from Apache Kafka 4.4.0's on purpose: step -> reason.

The test fails for a difference that is not here, and for one here that is no more.
"""

from __future__ import annotations

_OUR_DEFAULT = "a default of ours (pykbroker/config/differences.py)"

DIFFERENCES = {
    "describe(32, 'settings-g')": _OUR_DEFAULT,
    "describe(4, '1', 'log.retention.ms', 'log.retention.hours', 'node.id', 'broker.id', 'num.partitions')": _OUR_DEFAULT,
}
