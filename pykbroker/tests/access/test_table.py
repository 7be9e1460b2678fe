"""The table of what is asked: complete, and in the documentation as it is."""

from __future__ import annotations

from pathlib import Path

from pykbroker.access.table import CHECKS, table
from pykbroker.handlers.table import SUPPORTED
from pykbroker.wire.apis import ApiKey

ROOT = Path(__file__).parents[3]
#: What anybody may ask who is connected; a delegation token is named by its secret, and knows who may renew it.
FREE = {
    *(ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE),
    *(ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN),
    *(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY),
}


def test_every_api_that_is_served_is_in_the_table_or_free() -> None:
    assert set(CHECKS) | FREE == {api.key for api in SUPPORTED}
    assert not set(CHECKS) & FREE


def test_every_api_says_what_it_asks() -> None:
    assert all(any(check.rows for check in checks) for checks in CHECKS.values())


def test_the_page_shows_the_table_as_it_is() -> None:
    assert f"\n{table()}\n" in (ROOT / "docs" / "security_operations.md").read_text()
