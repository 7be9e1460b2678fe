"""``lake.json``: what a lake is, written when it is made and compared whenever something is added."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from pykbroker.lake.trouble import LakeError

FILE = "lake.json"
LAYOUT = 1


class Format(StrEnum):
    """The form of the tables."""

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"


@dataclass(frozen=True, slots=True)
class Description:
    """The tables' format, and the cluster whose records the lake holds."""

    format: Format
    cluster_id: str

    def to_json(self) -> str:
        return json.dumps({"layout": LAYOUT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, place: str) -> Description:
        """Raises LakeError where the text is not one that this version wrote."""
        try:
            fields = json.loads(text)
            if fields["layout"] == LAYOUT:
                return cls(Format(fields["format"]), fields["cluster_id"])
        except (ValueError, KeyError, TypeError):
            raise LakeError(f"{place} is not one that `pykbroker lake archive` wrote.") from None
        raise LakeError(f"{place} has layout {fields['layout']}; this pykbroker knows {LAYOUT}.")

    def check_same(self, wanted: Description, place: str) -> None:
        """Raises LakeError where what is to be added does not belong here."""
        if self.format != wanted.format:
            raise LakeError(f"The lake {place} is of format {self.format}; it cannot be {wanted.format} as well.")
        if self.cluster_id != wanted.cluster_id:
            raise LakeError(
                f"The lake {place} holds records of the cluster {self.cluster_id}, and this one is {wanted.cluster_id}: "
                "offsets of two clusters cannot be told apart. Archive it to a folder of its own."
            )
