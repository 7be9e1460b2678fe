"""The settings of one log, as numbers.

Names, defaults and meaning are those of Kafka's topic settings (Apache Kafka 4.4.0, ``LogConfig``), but for
``validate_records``, which is pykbroker.validate.records. The broker's
configuration validates what users write; values are not validated here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

_NEVER = 2**63 - 1
#: The default of max.decompressed.message.bytes: the largest array of a JVM.
_LARGEST_RECORD = 2**31 - 9


@dataclass(slots=True, frozen=True)
class LogConfig:
    """The settings of a log. Sizes in bytes, times in milliseconds."""

    segment_bytes: int = 1024**3
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024**2
    index_interval_bytes: int = 4096
    flush_messages: int = _NEVER
    flush_ms: int = _NEVER
    retention_bytes: int = -1
    retention_ms: int = 7 * 24 * 3600 * 1000
    max_message_bytes: int = 1024**2 + 12
    delete: bool = True
    compact: bool = False
    delete_retention_ms: int = 24 * 3600 * 1000
    file_delete_delay_ms: int = 60_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = _NEVER
    min_cleanable_dirty_ratio: float = 0.5
    log_append_time: bool = False
    timestamp_before_max_ms: int = _NEVER
    timestamp_after_max_ms: int = 3600 * 1000
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    preallocate: bool = False
    min_insync_replicas: int = 1
    max_decompressed_message_bytes: int = _LARGEST_RECORD
    validate_records: bool = False
    #: Computed: no setting requires decoding a producer's batch.
    opaque_batches: bool = field(init=False, default=True)
    #: Computed: no setting requires changing a batch of this process, whose records have keys and the time of the append.
    keeps_own_batches: bool = field(init=False, default=True)
    #: Computed: the age at which a segment rolls, which max.compaction.lag.ms bounds for a compacted log (KIP-354).
    roll_ms: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        opaque = (
            self.compression_type == "producer"
            and not self.compact
            and not self.log_append_time
            and not self.validate_records
            and self.timestamp_before_max_ms == _NEVER
            and not self.limits_decompressed
        )
        object.__setattr__(self, "opaque_batches", opaque)
        object.__setattr__(self, "keeps_own_batches", self.compression_type == "producer" and not self.log_append_time)
        lag = self.max_compaction_lag_ms if self.compact else _NEVER
        object.__setattr__(self, "roll_ms", min(self.segment_ms, lag) if lag > 0 else self.segment_ms)

    @property
    def limits_decompressed(self) -> bool:
        """Whether max.decompressed.message.bytes is set: its default bounds no record that Kafka could read."""
        return self.max_decompressed_message_bytes < _LARGEST_RECORD

    @property
    def most_batch_bytes(self) -> int:
        """The most bytes of a batch that the log takes."""
        return min(self.max_message_bytes, self.segment_bytes)

    @classmethod
    def from_settings(cls, settings: Mapping[str, object]) -> LogConfig:
        """From a topic's effective settings under Kafka's names; absent ones have the default.

        Values may be typed or text. Raises ValueError if a text is no number.
        """
        values: dict[str, object] = {}
        for name, (attribute, convert) in _SETTINGS.items():
            value = settings.get(name)
            if value is not None:
                values[attribute] = convert(value)
        internal = settings.get("internal.segment.bytes")
        if internal is not None:
            values["segment_bytes"] = _number(internal)
        policies = settings.get("cleanup.policy")
        if policies is not None:
            chosen = _names(policies)
            values["delete"] = "delete" in chosen
            values["compact"] = "compact" in chosen
        return cls(**values)  # type: ignore[arg-type]  # each converter yields its field's type


def _number(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]  # int or its text


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else str(value).strip().lower() == "true"


def _names(value: object) -> set[str]:
    items = value if isinstance(value, list | tuple | set | frozenset) else str(value).split(",")
    return {str(item).strip() for item in items}


def _is_log_append_time(value: object) -> bool:
    return str(value) == "LogAppendTime"


def _ratio(value: object) -> float:
    return float(value)  # type: ignore[arg-type]  # float or its text


_OTHERS: dict[str, tuple[str, Callable[[object], object]]] = {
    "message.timestamp.type": ("log_append_time", _is_log_append_time),
    "message.timestamp.before.max.ms": ("timestamp_before_max_ms", _number),
    "message.timestamp.after.max.ms": ("timestamp_after_max_ms", _number),
    "min.cleanable.dirty.ratio": ("min_cleanable_dirty_ratio", _ratio),
    "compression.type": ("compression_type", str),
    "preallocate": ("preallocate", _flag),
    "pykbroker.validate.records": ("validate_records", _flag),
}

#: Kafka's name -> our field and how to read a value. Most names differ by their dots alone.
_SETTINGS: dict[str, tuple[str, Callable[[object], object]]] = {
    **{
        item.name.replace("_", "."): (item.name, _number)
        for item in fields(LogConfig)
        if item.type == "int" and item.init and not item.name.startswith("timestamp_")
    },
    **_OTHERS,
}
