"""Creation, renewal and expiry of delegation tokens (KIP-48): validation, and the records of the change.

Rules: DelegationTokenControlManager of Kafka 4.4.0. Records hold no secret: it is derived (``security.delegation_tokens``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import islice
from random import Random
from typing import Final, NamedTuple

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.ids import random_id
from pykbroker.metadata.image import MetadataImage
from pykbroker.security.delegation_tokens import DelegationTokenSettings, hmac_of, secret_of
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
from pykbroker.wire.internal.remove_delegation_token_record import RemoveDelegationTokenRecord
from pykbroker.wire.primitives import uuid_to_str

#: The number of tokens that one change removes.
MOST_REMOVED: Final = 1000
_END_OF_TIME: Final = 2**63 - 1


class NewToken(NamedTuple):
    """A requested token; a maximum lifetime of 0 or less means the broker's."""

    owner: str
    requester: str
    renewers: Sequence[str]
    max_lifetime_ms: int


class TokenPlanner:
    """Plans changes of an image's tokens. It follows the image with an index by secret, since requests name tokens by it."""

    def __init__(
        self,
        image: MetadataImage,
        settings: DelegationTokenSettings,
        now_ms: Callable[[], int],
        rng: Random,
        *,
        since: int,
    ) -> None:
        """``since`` is the metadata.version from which on tokens exist."""
        self._image = image
        self._since = since
        self._now_ms = now_ms
        self._rng = rng
        self._max_lifetime_ms: int = settings["delegation.token.max.lifetime.ms"]
        self._expiry_time_ms: int = settings["delegation.token.expiry.time.ms"]
        self._secret = secret_of(settings)
        self._ids: dict[bytes, str] = {}
        if self._secret is not None:
            self._ids = {hmac_of(self._secret, token_id): token_id for token_id in image.delegation_tokens}

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A subscriber of the metadata."""
        del image
        for token_id, is_there in delta.delegation_tokens:
            if self._secret is not None and is_there:
                self._ids[hmac_of(self._secret, token_id)] = token_id
            elif self._secret is not None:
                self._ids.pop(hmac_of(self._secret, token_id), None)

    def create(self, wanted: NewToken) -> tuple[list[DelegationTokenRecord], DelegationTokenRecord]:
        """The record of a new token. Raises KafkaError DELEGATION_TOKEN_AUTH_DISABLED if tokens are disabled, and
        UNSUPPORTED_VERSION if the cluster's metadata.version has none.
        """
        self._check_enabled()
        now_ms, lifetime_ms = self._now_ms(), self._max_lifetime_ms
        if wanted.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, wanted.max_lifetime_ms)
        record = DelegationTokenRecord(
            owner=wanted.owner,
            requester=wanted.requester,
            renewers=list(wanted.renewers),
            issue_timestamp=now_ms,
            max_timestamp=_later(now_ms, lifetime_ms),
            expiration_timestamp=_later(now_ms, min(lifetime_ms, self._expiry_time_ms)),
            token_id=uuid_to_str(random_id(self._rng)),
        )
        return [record], record

    def renew(self, requester: str, hmac: bytes, period_ms: int) -> tuple[list[DelegationTokenRecord], int]:
        """The renewed token and its expiry time: ``period_ms`` from now, at most the broker's period, which is the default.
        Raises KafkaError as ``create``, and DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_EXPIRED, or
        DELEGATION_TOKEN_OWNER_MISMATCH for a principal that is neither owner nor renewer.
        """
        now_ms, token = self._now_ms(), self._known(hmac)
        _check_alive(token, now_ms)
        _check_may_renew(token, requester)
        if period_ms > 0:
            period_ms = min(period_ms, self._expiry_time_ms)
        else:
            period_ms = self._expiry_time_ms
        return _expiring(token, _later(now_ms, period_ms))

    def expire(
        self, requester: str, hmac: bytes, period_ms: int
    ) -> tuple[list[DelegationTokenRecord] | list[RemoveDelegationTokenRecord], int]:
        """The token with a new expiry time, ``period_ms`` from now; a negative period removes it at once. Raises what ``renew``
        raises, except DELEGATION_TOKEN_EXPIRED for a removal at once.
        """
        now_ms, token = self._now_ms(), self._known(hmac)
        _check_may_renew(token, requester)
        if period_ms < 0:
            return [RemoveDelegationTokenRecord(token_id=token.token_id)], now_ms
        _check_alive(token, now_ms)
        return _expiring(token, _later(now_ms, period_ms))

    def remove_expired(self) -> tuple[list[RemoveDelegationTokenRecord], int]:
        """The removal of some expired tokens, and their number."""
        now_ms = self._now_ms()
        over = (token for token in self._image.delegation_tokens.values() if _is_over(token, now_ms))
        records = [RemoveDelegationTokenRecord(token_id=token.token_id) for token in islice(over, MOST_REMOVED)]
        return records, len(records)

    def _check_enabled(self) -> None:
        if self._secret is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if self._image.features.get(METADATA_VERSION, 0) < self._since:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    def _known(self, hmac: bytes) -> DelegationTokenRecord:
        self._check_enabled()
        token_id = self._ids.get(hmac)
        if token_id is None:
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return self._image.delegation_tokens[token_id]


def _check_alive(token: DelegationTokenRecord, now_ms: int) -> None:
    if _is_over(token, now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED)


def _is_over(token: DelegationTokenRecord, now_ms: int) -> bool:
    return token.max_timestamp < now_ms or token.expiration_timestamp < now_ms


def _check_may_renew(token: DelegationTokenRecord, requester: str) -> None:
    if requester not in (token.owner, *token.renewers):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _expiring(token: DelegationTokenRecord, when_ms: int) -> tuple[list[DelegationTokenRecord], int]:
    expires_ms = min(token.max_timestamp, when_ms)
    record = copy.copy(token)
    record.expiration_timestamp = expires_ms
    return [record], expires_ms


def _later(now_ms: int, period_ms: int) -> int:
    return min(now_ms + period_ms, _END_OF_TIME)
