from __future__ import annotations

import pytest

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, NewColumns, ValueFormat


def test_what_is_written_is_read_again() -> None:
    how = DecodeOptions(
        ValueFormat.JSON, columns={"n": "BIGINT"}, key=KeyFormat.TEXT, new_columns=NewColumns.IGNORE, most_columns=5
    )
    assert DecodeOptions.from_json(how.to_json(), "here") == how
    for text in ("{}", "no JSON", how.to_json().replace("ignore", "other"), how.to_json().replace("message", "other")):
        with pytest.raises(LakeError, match="here is not one that"):
            DecodeOptions.from_json(text, "here")


def test_a_topic_stays_what_it_began_as() -> None:
    json = DecodeOptions(ValueFormat.JSON, columns={"n": "BIGINT"})
    assert json.followed_by(
        DecodeOptions(ValueFormat.JSON, new_columns=NewColumns.QUARANTINE), "orders"
    ) == DecodeOptions(ValueFormat.JSON, columns={"n": "BIGINT"}, new_columns=NewColumns.QUARANTINE)
    with pytest.raises(LakeError, match="orders is decoded as json; it cannot be avro as well"):
        json.followed_by(DecodeOptions(ValueFormat.AVRO), "orders")
    with pytest.raises(LakeError, match="orders is decoded with --key bytes; it cannot be text"):
        json.followed_by(DecodeOptions(ValueFormat.JSON, key=KeyFormat.TEXT), "orders")
    with pytest.raises(LakeError, match="orders is decoded without a schema file"):
        DecodeOptions(ValueFormat.AVRO).followed_by(DecodeOptions(ValueFormat.AVRO, schema="{}"), "orders")
