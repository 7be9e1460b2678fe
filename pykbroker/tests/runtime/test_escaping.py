from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.runtime.escaping import escaped, escaped_json, escaped_layout, paragraph

CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
ANYTHING = st.text(st.characters())


def test_every_control_of_unicode_is_escaped() -> None:
    controls = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in CATEGORIES]
    assert len(controls) > 2200
    assert [each for each in controls if escaped(each).isascii() and escaped(each).isprintable()] == controls


@pytest.mark.parametrize("invisible", ["\u115f", "\u1160", "\u3164", "\uffa0", "\u034f", "\u17b4", "\U000e0100"])
def test_what_is_drawn_as_nothing_is_escaped(invisible: str) -> None:
    assert escaped(f"a{invisible}b") == f"a{ascii(invisible)[1:-1]}b"


@pytest.mark.parametrize(
    "text", ["", "Bröt 漢字 'a' \\n", "全角\u3000空白", "\u2764\ufe0f", "e\u0301", "\U0001fae8", "\xa0"]
)
def test_what_people_write_stays(text: str) -> None:
    assert escaped(text) == escaped_layout(text) == paragraph(text) == text


@given(ANYTHING)
def test_it_is_one_line_and_escaping_again_changes_nothing(text: str) -> None:
    once = escaped(text)
    assert escaped(once) == once
    assert once.splitlines() in ([once], [])
    once.encode()


def test_layout_keeps_tabs_and_line_ends_alone() -> None:
    assert escaped_layout("a\tb\nc\rd\x1be\x0b") == "a\tb\nc\\rd\\x1be\\x0b"


def test_lines_of_a_paragraph_cannot_be_taken_for_messages() -> None:
    assert paragraph("one\nerror: two\x1b\r") == "one\n  error: two\\x1b\\r"


@given(
    st.recursive(ANYTHING | st.integers() | st.none(), lambda each: st.lists(each) | st.dictionaries(ANYTHING, each))
)
def test_json_reads_back_as_the_same_and_has_no_controls(value: object) -> None:
    text = escaped_json(value)
    assert json.loads(text) == value
    assert escaped(text) == text


def test_indented_json_has_its_lines() -> None:
    assert escaped_json({"a": "\x9b\n\U000e0001"}, indent=1) == '{\n "a": "\\u009b\\n\\udb40\\udc01"\n}'
