"""Records as JSON: what is text, what is not, what is cut."""

from __future__ import annotations

import base64
import json

from pykbroker.http.console.record_json import SINGLE, part, record_json
from pykbroker.wire.records import Record


def test_text_is_text_and_the_rest_is_base64() -> None:
    assert part(None, 10) is None
    assert part(b"", 10) == {"size": 0, "text": ""}
    assert part("é\n\t".encode(), 10) == {"size": 4, "text": "é\n\t"}
    for data in (b"\x00\x00\x00\x05", b"\xff", b"a\x1b[31m", b"\x7f"):
        assert part(data, 10) == {"size": len(data), "base64": base64.b64encode(data).decode()}


def test_what_is_long_is_cut_between_characters() -> None:
    assert part("ééé".encode(), 5) == {"size": 6, "cut": True, "text": "éé"}
    assert part(b"\xff" * 9, 3) == {"size": 9, "cut": True, "base64": "////"}
    assert part(b"abc\xc3", 10) == {"size": 4, "base64": "YWJjww=="}  # of which the end is missing for good


def test_a_record_of_strangers_stays_what_it_is() -> None:
    evil = "</script><script>alert(1)</script>"
    record = Record(7, -1, evil.encode(), None, [(evil, b"\x00"), ("\udcff", b"x")])
    found = json.loads(json.dumps(record_json("t", 3, record, control=False)))
    assert (found["partition"], found["offset"], found["timestamp"]) == (3, 7, -1)
    assert (found["key"]["text"], found["value"]) == (evil, None)
    assert [name for name, _ in found["headers"]] == [evil, "\ufffd"]


def test_headers_have_an_end() -> None:
    record = Record(0, 0, None, None, [("h" * 300, b"v" * 300)] * 150)
    found = record_json("t", 0, record, control=False)
    assert (len(found["headers"]), found["headers_left_out"]) == (20, 130)
    assert (len(found["headers"][0][0]), found["headers"][0][1]["cut"]) == (200, True)
    found = record_json("t", 0, record, control=False, most=SINGLE)
    assert (len(found["headers"]), found["headers_left_out"]) == (100, 50)
    assert "cut" not in found["headers"][0][1]


def test_internal_records_that_mean_nothing() -> None:
    found = record_json("__consumer_offsets", 0, Record(0, 0, b"\x00\x63junk", b"junk"), control=False)
    assert found["meaning"]["type"] == "unreadable"
    assert "meaning" not in record_json("orders", 0, Record(0, 0, b"\x00\x63junk", b"junk"), control=False)
