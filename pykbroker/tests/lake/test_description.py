from __future__ import annotations

import pytest

from pykbroker.lake.description import Description, Format
from pykbroker.lake.errors import LakeError

OURS = Description(Format.DELTA, "abc")


def test_it_is_read_as_it_was_written() -> None:
    assert Description.from_json(OURS.to_json(), "lake.json") == OURS


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"layout": 1}', '{"layout": 1, "format": "csv", "cluster_id": ""}'])
def test_what_we_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(LakeError, match="is not one that `pykbroker lake archive` wrote"):
        Description.from_json(text, "lake.json")


def test_a_later_layout_is_told() -> None:
    with pytest.raises(LakeError, match="has layout 2; this pykbroker knows 1"):
        Description.from_json('{"layout": 2}', "lake.json")
