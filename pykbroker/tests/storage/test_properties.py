r"""Java's .properties form. What is expected was read by java.util.Properties itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.storage.properties import PropertiesError, load, parse_properties, text_of

JAVA_READS = {
    "a=b\\": {"a": "b"},
    "a b c": {"a": "b c"},
    "a:b=c": {"a": "b=c"},
    "a\\=b = c ": {"a=b": "c "},
    "a\\\n   b=c": {"ab": "c"},
    "a=\\u0041\\tq\\z": {"a": "A\tqz"},
    "#c\\\nd=e": {"d": "e"},
    "! c\nd=e": {"d": "e"},
    "a=1\na=2": {"a": "2"},
    "a": {"a": ""},
    "a = b\\\n#c": {"a": "b#c"},
    "  \\\n a=b": {"a": "b"},
    "a=b\\\n\n c=d": {"a": "b", "c": "d"},
    "a=b\\\n   \n c=d": {"a": "b", "c": "d"},
    "a=b \\\\": {"a": "b \\"},
    "a  =  =b": {"a": "=b"},
    "a::b": {"a": ":b"},
    "a\\:b:c": {"a:b": "c"},
    "a\r\rb": {"a": "", "b": ""},
    "a=1\r\nb=2\r\n": {"a": "1", "b": "2"},
    " \f x\t=\fy": {"x": "y"},
    "a=\u00fc": {"a": "\u00fc"},
    "": {},
}


@pytest.mark.parametrize(("text", "expected"), JAVA_READS.items())
def test_reads_as_java_does(text, expected):
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\uxyzw", "\\u=1"])
def test_refuses_an_unfinished_unicode_escape(text):
    with pytest.raises(PropertiesError, match="four hexadecimal digits"):
        parse_properties(text)


def test_keeps_the_order_of_first_mention():
    assert list(parse_properties("b=1\na=2\nb=3")) == ["b", "a"]


def test_load_reads_iso_8859_1_and_names_the_file_when_it_cannot(tmp_path):
    good = tmp_path / "server.properties"
    good.write_bytes(b"broker.rack=K\xf6ln \\u00fc \\ud83d\\ude00\nother=\xc3\xb6\n")
    assert load(good) == {"broker.rack": "K\u00f6ln \u00fc \U0001f600", "other": "\u00c3\u00b6"}
    bad = tmp_path / "bad.properties"
    bad.write_bytes(b"broker.rack=\\u12\n")
    with pytest.raises(PropertiesError, match=r"bad\.properties"):
        load(bad)


@given(st.dictionaries(st.sampled_from("abc"), st.text()))
def test_what_is_written_is_read_again(entries):
    written = text_of(entries)
    assert parse_properties(written) == entries
    assert written.isascii()
