from __future__ import annotations

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa

from pykbroker.lake.direct.arrow_columns import Stretches, read_headers
from pykbroker.lake.direct.varints import LOOK_AHEAD, Cursor


@pytest.mark.deep
def test_stretches_are_copied_out_of_the_buffer_and_negative_lengths_are_null() -> None:
    column = Stretches(np.array([0, 3, 3, 5]), np.array([2, -1, 0, 4])).gathered(pa.py_buffer(b"abcdefghij"))
    column.validate(full=True)
    assert column.to_pylist() == [b"ab", None, b"", b"fghi"]


def test_a_key_that_is_no_text_is_as_kafkas_java_client_shows_it() -> None:
    data = b"\x02\x04a\xff\x02x" + bytes(LOOK_AHEAD)
    cursor = Cursor(np.frombuffer(data, np.uint8), np.array([0]))
    assert read_headers(cursor).gathered(pa.py_buffer(data)).to_pylist() == [[{"key": "a�", "value": b"x"}]]
