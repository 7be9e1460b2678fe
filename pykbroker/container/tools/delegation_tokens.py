"""``kafka-delegation-tokens``: create, describe, renew and expire delegation tokens (KIP-48)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.errors import raise_for
from pykbroker.container.tools.printing import print_lines, print_unended
from pykbroker.container.tools.running import Options, ToolError, connect, exactly_one
from pykbroker.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pykbroker.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

_ACTIONS: Final = ("create", "renew", "expire", "describe")
#: What each action must be told.
_NEEDED: Final = {
    "create": ("max-life-time-period",),
    "renew": ("hmac", "renew-time-period"),
    "expire": ("hmac", "expiry-time-period"),
    "describe": (),
}
_HEADINGS: Final = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
_WIDTHS: Final = (15, 30, 15, 15, 25, 15, 15, 15)

Principal = tuple[str, str]


def main(words: list[str]) -> None:
    options = _options().parse_args(words)
    action = exactly_one(options, _ACTIONS)
    for name in ("command-config", *_NEEDED[action]):
        if getattr(options, name.replace("-", "_")) is None:
            raise ToolError(f'Missing required argument "[{name}]"')
    renewers, owners = (list(map(_principal, each)) for each in (options.renewer_principal, options.owner_principal))
    hmac = _hmac(options.hmac or "")
    with connect(options) as client:
        if action == "create":
            _create(client, renewers, owners, options.max_life_time_period)
        elif action == "renew":
            _renew(client, options.hmac, hmac, options.renew_time_period)
        elif action == "expire":
            _expire(client, options.hmac, hmac, options.expiry_time_period)
        else:
            _describe(client, owners)


def _options() -> Options:
    made = Options("kafka-delegation-tokens", "Create, describe, renew and expire delegation tokens.")
    made.connecting(also=())
    made.flags(*_ACTIONS)
    made.add_argument("--owner-principal", metavar="TYPE:NAME", action="append", default=[])
    made.add_argument("--renewer-principal", metavar="TYPE:NAME", action="append", default=[])
    made.add_argument("--max-life-time-period", metavar="MS", type=int, help="-1 for what the brokers allow")
    made.add_argument("--renew-time-period", metavar="MS", type=int, help="-1 for what the brokers allow")
    made.add_argument("--expiry-time-period", metavar="MS", type=int, help="-1 for at once")
    made.add_argument("--hmac", metavar="TEXT", help="the secret of the token")
    return made


def _create(client: Client, renewers: Sequence[Principal], owners: Sequence[Principal], life: int) -> None:
    print_lines(f"Calling create token operation with renewers :{_listed(renewers)} , max-life-time-period :{life}")
    owner = owners[0] if owners else ("", "")
    asked = CreateDelegationTokenRequest(*owner, [CreatableRenewers(*each) for each in renewers], life)
    made = client.any().call(asked, CreateDelegationTokenResponse)
    raise_for(made.error_code)
    print_lines(f"Created delegation token with tokenId : {made.token_id}")
    token = DescribedDelegationToken(
        principal_type=made.principal_type, principal_name=made.principal_name,
        token_requester_principal_type=made.token_requester_principal_type,
        token_requester_principal_name=made.token_requester_principal_name,
        issue_timestamp=made.issue_timestamp_ms, expiry_timestamp=made.expiry_timestamp_ms,
        max_timestamp=made.max_timestamp_ms, token_id=made.token_id, hmac=made.hmac,
        renewers=[DescribedDelegationTokenRenewer(*each) for each in renewers],
    )  # fmt: skip
    _print([token])


def _renew(client: Client, text: str, hmac: bytes, period: int) -> None:
    print_lines(f"Calling renew token operation with hmac :{text} , renew-time-period :{period}")
    answer = client.any().call(RenewDelegationTokenRequest(hmac, period), RenewDelegationTokenResponse)
    raise_for(answer.error_code)
    print_unended(f"Completed renew operation. New expiry date : {_date(answer.expiry_timestamp_ms)}")


def _expire(client: Client, text: str, hmac: bytes, period: int) -> None:
    print_lines(f"Calling expire token operation with hmac :{text} , expire-time-period :{period}")
    answer = client.any().call(ExpireDelegationTokenRequest(hmac, period), ExpireDelegationTokenResponse)
    raise_for(answer.error_code)
    print_unended(f"Completed expire operation. New expiry date : {_date(answer.expiry_timestamp_ms)}")


def _describe(client: Client, owners: Sequence[Principal]) -> None:
    print_lines(
        f"Calling describe token operation for owners: {_listed(owners)}"
        if owners
        else "Calling describe token operation for current user."
    )
    named = [DescribeDelegationTokenOwner(*each) for each in owners] or None
    answer = client.any().call(DescribeDelegationTokenRequest(named), DescribeDelegationTokenResponse)
    raise_for(answer.error_code)
    print_unended(f"Total number of tokens : {len(answer.tokens)}")
    _print(answer.tokens)


def _print(tokens: Iterable[DescribedDelegationToken]) -> None:
    _row(_HEADINGS)
    for token in tokens:
        _row((
            token.token_id,
            base64.b64encode(token.hmac).decode(),
            f"{token.principal_type}:{token.principal_name}",
            f"{token.token_requester_principal_type}:{token.token_requester_principal_name}",
            _listed([(each.principal_type, each.principal_name) for each in token.renewers]),
            _date(token.issue_timestamp),
            _date(token.expiry_timestamp),
            _date(token.max_timestamp),
        ))  # fmt: skip


def _row(cells: Sequence[str]) -> None:
    print_lines()
    print_lines(" ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)))


def _principal(text: str) -> Principal:
    """Raises ToolError."""
    kind, colon, name = text.strip().partition(":")
    if not colon or not kind:
        raise ToolError(f"expected a string in format principalType:principalName but got {text.strip()}")
    return kind, name


def _listed(principals: Iterable[Principal]) -> str:
    return f"[{', '.join(':'.join(each) for each in principals)}]"


def _hmac(text: str) -> bytes:
    """Raises ToolError."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ToolError(f"--hmac is not base64: {error}.") from error


def _date(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000).astimezone():%Y-%m-%dT%H:%M}"
