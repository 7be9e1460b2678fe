"""Where a share group begins to read a partition that it has not read before: ``share.auto.offset.reset``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime

_BY_DURATION = "by_duration:"
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1000)


def start_offset(reset: str, partition: Partition, runtime: Runtime) -> Deferred[int]:
    """The offset for ``latest``, ``earliest``, or ``by_duration:`` and a duration of ISO 8601, which a thread looks for."""
    if reset == "earliest":
        return Deferred.completed(partition.log_start_offset)
    if not reset.startswith(_BY_DURATION):
        return Deferred.completed(partition.high_watermark)
    timestamp = max(runtime.clock.now_ms() - duration_ms(reset.removeprefix(_BY_DURATION)), 0)
    upper = partition.high_watermark
    found = runtime.offload_read(partition.log.offset_for_timestamp, timestamp, upper)
    return found.map(lambda place: upper if place is None else place.offset)


def duration_ms(text: str) -> int:
    """A duration of ISO 8601 (``P1DT2H3M4.5S``), which a rule of the setting has checked, in milliseconds."""
    found = _DURATION.fullmatch(text)
    parts = found.groups("0") if found else ()
    return int(sum(float(part) * unit for part, unit in zip(parts, _UNITS_MS, strict=False)))
