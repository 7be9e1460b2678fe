"""What a leader raises for a batch that it does not append."""

from __future__ import annotations

from pykbroker.wire.errors import ErrorCode, KafkaError


class RecordsRejected(KafkaError):
    """Some records of a batch break a rule; nothing was appended. ``record_errors``: (index in the batch, message)."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class NotOneBatch(KafkaError):
    """The bytes are not one batch of format 2; no log was accessed. ``excerpt``: the message is part of the answer."""

    def __init__(self, code: ErrorCode, message: str, *, excerpt: bool = False) -> None:
        super().__init__(code, message)
        self.excerpt = excerpt
