"""How the values of a topic are read: said once, kept beside what was decoded, and the same ever after. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from pykbroker.lake.trouble import LakeError
from pykbroker.lake.values.types import Columns


class Kind(StrEnum):
    """What values are."""

    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"
    TEXT = "text"


class NewColumns(StrEnum):
    """What becomes of a record with a field that has no column."""

    ADD = "add"
    QUARANTINE = "quarantine"
    IGNORE = "ignore"


class KeyKind(StrEnum):
    """What keys become: as they are, or text."""

    BYTES = "bytes"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class How:
    """``schema`` is Avro's text, or Protobuf's descriptors in base64; without one, values say which they have (a registry's frame).

    ``columns`` are those that a person gave for JSON; without them they are found in the values.
    """

    kind: Kind
    schema: str | None = None
    message: str | None = None
    columns: Columns | None = None
    key: KeyKind = KeyKind.BYTES
    new_columns: NewColumns = NewColumns.ADD
    most_columns: int = 1000

    @property
    def is_framed(self) -> bool:
        return self.kind in (Kind.AVRO, Kind.PROTOBUF) and self.schema is None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, place: str) -> How:
        """Raises LakeError where the text is not one that this version wrote."""
        try:
            fields = json.loads(text)
            named = {"kind": Kind(fields["kind"]), "key": KeyKind(fields["key"])}
            return cls(**{**fields, **named, "new_columns": NewColumns(fields["new_columns"])})
        except (ValueError, KeyError, TypeError):
            raise LakeError(f"{place} is not one that `pykbroker lake decode` wrote.") from None

    def followed_by(self, wanted: How, topic: str) -> How:
        """What is kept when ``wanted`` is said of a topic that was decoded before. Raises LakeError where it cannot be both."""
        for name, mine, other in (("as", self.kind, wanted.kind), ("with --key", self.key, wanted.key)):
            if mine != other:
                raise LakeError(
                    f"{topic} is decoded {name} {mine}; it cannot be {other} as well. Delete the folder decoded/{topic} of the lake to begin anew."
                )
        if self.is_framed != wanted.is_framed:
            raise LakeError(f"{topic} is decoded {'without' if self.is_framed else 'by'} a schema file; it stays so.")
        return replace(wanted, columns=wanted.columns or self.columns)
