"""The form of a dead letter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pykbroker.share_partitions.dead_letters import letters
from pykbroker.share_partitions.dead_letters.letters import LetterForm, fits, size_of
from pykbroker.share_partitions.states import GivenUp
from pykbroker.wire.records import Record, encode_batch

FORM = LetterForm("work", "jobs", 3)
#: A key or a value.
BYTES = st.none() | st.binary(max_size=300)


def test_a_letter_says_where_the_record_was_and_why_it_is_here() -> None:
    copied = Record(offset=7, timestamp=1, key=b"k", value=b"v", headers=[("own", b"x")])
    letter = FORM.letter(7, GivenUp(5, 9, 4, rejected=False), 1000, copied)
    assert (letter.key, letter.value, letter.timestamp) == (b"k", b"v", 1000)
    assert dict(letter.headers) == {
        letters.TOPIC: b"jobs",
        letters.PARTITION: b"3",
        letters.OFFSET: b"7",
        letters.GROUP: b"work",
        letters.DELIVERY_COUNT: b"4",
        letters.MESSAGE: b"Offset delivery count exceeded the threshold.",
    }
    bare = FORM.letter(7, GivenUp(5, 9, 1, rejected=True), 1000, None)
    assert (bare.key, bare.value) == (None, None)
    assert dict(bare.headers)[letters.MESSAGE] == b"Offset rejected by client."


@given(key=BYTES, value=BYTES, offset=st.integers(0, 2**62))
def test_a_letter_is_no_larger_than_it_is_taken_for(key: bytes | None, value: bytes | None, offset: int) -> None:
    copied = Record(timestamp=1, key=key, value=value)
    letter = FORM.letter(offset, GivenUp(offset, offset, 5, rejected=True), 1000, copied)
    size = len(encode_batch([letter]))
    assert size <= size_of(letter) + 61
    assert fits(letter, size_of(letter) + 61)
    assert not fits(letter, size - 100)


def test_letters_of_others_are_told_apart() -> None:
    given_up = GivenUp(0, 9, 5, rejected=True)
    assert FORM.offset_of(FORM.letter(4, given_up, 0, None)) == 4
    for other in (LetterForm("work", "jobs", 2), LetterForm("work", "other", 3), LetterForm("another", "jobs", 3)):
        assert FORM.offset_of(other.letter(4, given_up, 0, None)) is None
    assert FORM.offset_of(Record(value=b"no letter")) is None
    for offset in (b"four", b"9" * 5000):
        headers = dict(FORM.letter(4, given_up, 0, None).headers) | {letters.OFFSET: offset}
        assert FORM.offset_of(Record(headers=list(headers.items()))) is None
