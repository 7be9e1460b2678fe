"""What is printed of records that cannot be read; compat_tests/tools has the others, beside Kafka's own command."""

from __future__ import annotations

import pytest

from pykbroker.container.tools.record_decoders import DECODERS, plain
from pykbroker.container.tools.running import ToolError
from pykbroker.wire.internal.coordinator import encode_coordinator_key, encode_coordinator_value
from pykbroker.wire.internal.transaction_log import TransactionLogKey, TransactionLogValue
from pykbroker.wire.records import Record


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(offset=7, key=key, value=value)


def test_text_is_what_there_is_without_a_decoder() -> None:
    assert plain(record(None, b"a\xff")) == (None, "a\ufffd")


@pytest.mark.parametrize("name", ["offsets-decoder", "transaction-log-decoder", "share-group-state-decoder"])
def test_a_key_that_is_none_or_not_known(name: str) -> None:
    with pytest.raises(ToolError, match="Failed to decode message at offset 7 using the specified decoder"):
        DECODERS[name](record(None, b"value"))
    assert DECODERS[name](record(b"\0\x63", None)) == ("Unknown record type 99 at offset 7, skipping.", None)
    key, payload = DECODERS[name](record(b"\0\0\0", None))
    assert str(key).startswith("Error at offset 7, skipping. ")
    assert payload is None


def test_a_metadata_record_that_is_none() -> None:
    for value in (None, b"", b"\1\x63\0"):
        key, payload = DECODERS["cluster-metadata-decoder"](record(None, value))
        assert key is None
        assert str(payload).startswith("Error at 7, skipping. ")


@pytest.mark.parametrize(("status", "shown"), [(3, '"PrepareAbort"'), (7, '"PrepareEpochFence"'), (9, '"9"')])
def test_a_transaction_has_the_name_of_its_state(status: int, shown: str) -> None:
    key, value = TransactionLogKey("t"), TransactionLogValue(transaction_status=status)
    written = record(encode_coordinator_key(key), encode_coordinator_value(value, 1))
    _, payload = DECODERS["transaction-log-decoder"](written)
    assert f'"transactionStatus":{shown}' in str(payload)
