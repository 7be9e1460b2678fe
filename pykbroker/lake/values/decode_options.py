"""How the values of a topic are decoded: given once, and stored beside the decoded values. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from pykbroker.lake.errors import LakeError, written_by
from pykbroker.lake.values.types import Columns


class ValueFormat(StrEnum):
    """The format of values."""

    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    TEXT = "text"


class NewColumns(StrEnum):
    """The treatment of a record with a field that has no column."""

    ADD = "add"
    QUARANTINE = "quarantine"
    IGNORE = "ignore"


class KeyFormat(StrEnum):
    """The type of keys: unchanged bytes, or text."""

    BYTES = "bytes"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """``schema`` is Avro's text, or Protobuf's descriptors in base64; without one, the frame of each value names its schema.

    ``columns`` are JSON's columns from the command line; without them, they are inferred from the values.
    """

    kind: ValueFormat
    schema: str | None = None
    message: str | None = None
    columns: Columns | None = None
    key: KeyFormat = KeyFormat.BYTES
    new_columns: NewColumns = NewColumns.ADD
    most_columns: int = 1000

    @property
    def is_framed(self) -> bool:
        return self.kind in (ValueFormat.AVRO, ValueFormat.PROTOBUF) and self.schema is None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, place: str) -> DecodeOptions:
        """Parse the file ``place``. Raises LakeError if it is damaged."""
        with written_by("decode", place):
            fields = json.loads(text)
            named = {"kind": ValueFormat(fields["kind"]), "key": KeyFormat(fields["key"])}
            return cls(**{**fields, **named, "new_columns": NewColumns(fields["new_columns"])})

    def followed_by(self, wanted: DecodeOptions, topic: str) -> DecodeOptions:
        """The new setting for a topic that was decoded before, if ``wanted`` is given. Raises LakeError if they contradict."""
        for name, mine, other in (("as", self.kind, wanted.kind), ("with --key", self.key, wanted.key)):
            if mine != other:
                raise LakeError(
                    f"{topic} is decoded {name} {mine}; it cannot be {other} as well. Delete the folder decoded/{topic} of the lake to begin anew."
                )
        if self.is_framed != wanted.is_framed:
            raise LakeError(f"{topic} is decoded {'without' if self.is_framed else 'by'} a schema file; it stays so.")
        return replace(wanted, columns={**(self.columns or {}), **(wanted.columns or {})} or None)
