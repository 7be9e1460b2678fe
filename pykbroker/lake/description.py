"""``lake.json``: the format of a lake and its cluster, written once and compared whenever records are added."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from pykbroker.lake.errors import LakeError, written_by

FILE = "lake.json"
LAYOUT = 1


class Format(StrEnum):
    """The format of the tables."""

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
        """Parse the file ``place``. Raises LakeError if it is damaged or of another version's layout."""
        with written_by("archive", place):
            fields = json.loads(text)
            if fields["layout"] == LAYOUT:
                return cls(Format(fields["format"]), str(fields["cluster_id"]))
        raise LakeError(
            f"{place} has layout {fields['layout']}; this pykbroker knows {LAYOUT}. A newer one may read it."
        )

    def check_same(self, wanted: Description, place: str) -> None:
        """Raises LakeError if records of the lake ``wanted`` do not belong to this one."""
        check_format(self.format, wanted.format, place)
        if self.cluster_id != wanted.cluster_id:
            raise LakeError(
                f"The lake {place} holds records of the cluster {self.cluster_id}, and this one is {wanted.cluster_id}: "
                "offsets of two clusters cannot be told apart. Archive it to a folder of its own."
            )


def check_format(found: Format, wanted: Format, place: str) -> None:
    """Raises LakeError if the lake's tables have another format."""
    if found != wanted:
        raise LakeError(f"The lake {place} is of format {found}; it cannot be {wanted} as well.")
