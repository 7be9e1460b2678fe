"""The options of the direct source, with the names and meanings of Spark's Kafka source, as ranges of offsets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pykbroker.lake.direct.columns import ALL, Columns
from pykbroker.lake.direct.log_files import LogFiles, as_readable, find_logs
from pykbroker.lake.direct.reading import Manner
from pykbroker.lake.direct.timestamp_offsets import offset_at
from pykbroker.lake.direct.transactions import last_stable_offset
from pykbroker.lake.errors import DataLost, LakeError
from pykbroker.lake.ledger import LakePartition, Offsets, flat

_EARLIEST, _LATEST = -2, -1
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
_CHOOSING = ("assign", "subscribe", "subscribepattern")
_STARTS = ("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp")
_ENDS = ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp")
_KNOWN = {
    "path", "includeheaders", "failondataloss", "minpartitions", "supersededkeys", "startingoffsetsbytimestampstrategy",
    *_CHOOSING, *_STARTS, *_ENDS,
}  # fmt: skip
_ISOLATION = "kafka.isolation.level"


class DirectSourceOptions:
    """What the options ask for. Option names are in lower case here, since Spark ignores their case."""

    def __init__(self, options: Mapping[str, str], *, streaming: bool = False) -> None:
        """Raises LakeError for options that are unknown, missing, contradictory or malformed."""
        self._options = {name.lower(): value for name, value in options.items()}
        self._streaming = streaming
        self._check()
        self.directories = [each.strip() for each in self._options["path"].split(",")]
        self.manner = Manner(
            columns=Columns((*ALL, "headers") if self._flag("includeHeaders", default=False) else ALL),
            committed=self._one_of(_ISOLATION, "read_uncommitted", "read_committed") == "read_committed",
            newest_of_key=self._one_of("supersededKeys", "keep", "drop") == "drop",
            fail_on_data_loss=self._flag("failOnDataLoss", default=True),
        )

        self.min_partitions = self._number("minPartitions", default=1)

    def _check(self) -> None:
        strangers = sorted(name for name in self._options if name not in _KNOWN and not name.startswith("kafka."))
        if strangers:
            raise LakeError(f"The source pykbroker has no option {strangers[0]!r}; it has {', '.join(sorted(_KNOWN))}.")
        if not self._options.get("path"):
            raise LakeError('Say which folder to read: .option("path", DATA_DIR), the broker\'s log.dirs.')
        for names in (_CHOOSING, _STARTS, _ENDS):
            given = [name for name in names if name in self._options]
            if len(given) > 1:
                raise LakeError(f"The options {given[0]} and {given[1]} cannot both be given.")
        if self._streaming and (ending := [name for name in _ENDS if name in self._options]):
            raise LakeError(f"{ending[0]} is for spark.read; a stream does not end.")
        if self._streaming and self._options.get("supersededkeys", "keep") != "keep":
            raise LakeError("supersededKeys is for spark.read; what will be superseded later a stream cannot know.")

    def _flag(self, name: str, *, default: bool) -> bool:
        return self._one_of(name, *(("true", "false") if default else ("false", "true"))) == "true"

    def _number(self, name: str, *, default: int) -> int:
        text = self._options.get(name.lower(), str(default))
        if not text.isdecimal() or int(text) < 1:
            raise LakeError(f"{name} is a number from 1 on, not {text!r}.")
        return int(text)

    def _one_of(self, name: str, default: str, other: str) -> str:
        value = self._options.get(name.lower(), default).lower()
        if value not in (default, other):
            raise LakeError(f"{name} is {default} or {other}, not {value!r}.")
        return value

    # Partitions

    def logs(self) -> dict[LakePartition, LogFiles]:
        """The requested partitions, as they are now. Raises LakeError if one is missing or the log directories cannot be read."""
        found = find_logs(self.directories)
        assigned = self._json("assign")
        if assigned is not None:
            chosen = {LakePartition(topic, number) for topic, numbers in assigned.items() for number in numbers}
            missing = sorted(chosen - set(found))
        elif "subscribe" in self._options:
            topics = {each.strip() for each in self._options["subscribe"].split(",")}
            chosen = {place for place in found if place.topic in topics}
            missing = sorted(LakePartition(topic, 0) for topic in topics - {place.topic for place in chosen})
        else:
            pattern = re.compile(self._options.get("subscribepattern", ".*"))
            chosen = {place for place in found if place.topic not in _INTERNAL and pattern.fullmatch(place.topic)}
            missing = []
        if missing:
            raise LakeError(f"There is no {missing[0]} in {', '.join(self.directories)}.")
        return {place: as_readable(found[place]) for place in sorted(chosen)}

    def limit(self, log: LogFiles) -> int:
        """The offset at which a reader of this log ends: the high watermark or, with read_committed, the last stable offset."""
        return last_stable_offset(log) if self.manner.committed else log.high_watermark

    # Offsets

    def starts(self, logs: Mapping[LakePartition, LogFiles], limits: Offsets) -> dict[LakePartition, int]:
        """The offset from which each partition is read. Raises LakeError if an option does not fit these logs."""
        default = "latest" if self._streaming else "earliest"
        late = self._one_of("startingOffsetsByTimestampStrategy", "error", "latest")

        def without_record(log: LogFiles, timestamp_ms: int) -> int:
            if late == "error":
                raise LakeError(
                    f"{log.place} has no record with the timestamp {timestamp_ms} or a later one; set "
                    "startingOffsetsByTimestampStrategy to latest to begin such partitions at their end."
                )
            return limits[log.place]

        return self._offsets(_STARTS, default, logs, limits, without_record)

    def ends(self, logs: Mapping[LakePartition, LogFiles], limits: Offsets) -> dict[LakePartition, int]:
        return self._offsets(_ENDS, "latest", logs, limits, lambda log, _: limits[log.place])

    def _offsets(
        self,
        names: tuple[str, str, str],
        default: str,
        logs: Mapping[LakePartition, LogFiles],
        limits: Offsets,
        without_record: Callable[[LogFiles, int], int],
    ) -> dict[LakePartition, int]:
        by_offset, by_time, by_times = names
        if by_time in self._options or by_times in self._options:
            times = self._times(by_time, by_times, logs)
            found = {place: offset_at(log, times[place], limits[place]) for place, log in logs.items()}
            return {
                place: without_record(logs[place], times[place]) if offset is None else offset
                for place, offset in found.items()
            }
        text = self._options.get(by_offset, default)
        if text.lower() in ("earliest", "latest"):
            code = _EARLIEST if text.lower() == "earliest" else _LATEST
            return {place: _resolved(log, code, limits[place]) for place, log in logs.items()}
        given = flat(self._json(by_offset) or {})
        self._check_complete(by_offset, given, logs)
        return {place: self._there(log, given[place], limits[place]) for place, log in logs.items()}

    def _there(self, log: LogFiles, offset: int, limit: int) -> int:
        """An offset from an option. Raises DataLost if the log does not have it and failOnDataLoss is true."""
        found = _resolved(log, offset, limit)
        if log.start <= found <= limit:
            return found
        if self.manner.fail_on_data_loss:
            raise DataLost(
                f"{log.place} has the offsets {log.start} to {limit - 1}, and {offset} was asked for; set failOnDataLoss to false to "
                "take the nearest."
            )
        return min(max(found, log.start), limit)

    def _times(self, by_time: str, by_times: str, logs: Iterable[LakePartition]) -> dict[LakePartition, int]:
        if by_time in self._options:
            text = self._options[by_time]
            if not text.isdecimal():
                raise LakeError(f"{by_time} is milliseconds since 1970, not {text!r}.")
            return dict.fromkeys(logs, int(text))
        given = flat(self._json(by_times) or {})
        self._check_complete(by_times, given, logs)
        return given

    def _check_complete(self, name: str, given: Offsets, logs: Iterable[LakePartition]) -> None:
        if unlike := sorted(set(given) ^ set(logs)):
            raise LakeError(f"{name} must name each partition that is read, and no other: look at {unlike[0]}.")

    def _json(self, name: str) -> dict[str, Any] | None:
        text = self._options.get(name)
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError as error:
            raise LakeError(f"{name} is no JSON: {error}.") from None
        if not isinstance(found, dict):
            raise LakeError(f"{name} is an object of topics, not {text}.")
        return found


def _resolved(log: LogFiles, offset: int, limit: int) -> int:
    if offset == _EARLIEST:
        return min(log.start, limit)
    return limit if offset == _LATEST else offset
