"""``pykbroker tokens``: delegation tokens, with which others authenticate as their owner, for a limited time."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.acl_words import principal
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import (
    ConnectionOptions,
    Json,
)
from pykbroker.cli.output import Output
from pykbroker.cli.times import format_ms, parse_duration
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, raise_for, refusal
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from pykbroker.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from pykbroker.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from pykbroker.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

app = typer.Typer(help="List, create, renew and expire delegation tokens.", no_args_is_help=True)

_TABLE = {
    "token": "TOKEN",
    "owner": "OWNER",
    "requester": "REQUESTER",
    "renewers": "RENEWERS",
    "expires": "EXPIRES",
    "ends": "ENDS",
}
_SECRET = {"secret": "SECRET"}
_FOR_OTHERS_SINCE = 3
#: Values for "the broker's default" and "now" in requests.
_USUAL, _AT_ONCE = -1, -1
Token = Annotated[str, typer.Argument(metavar="TOKEN", help="The token's id, as `list` shows it.")]


@app.command("list")
@with_option_values
def list_tokens(
    owners: Annotated[
        list[str] | None, typer.Argument(metavar="[PRINCIPAL]...", help="Tokens that these own or may renew; else all.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Show the secrets, which are as good as passwords.")
    ] = False,
) -> None:
    """List the tokens that you may see: those that you own or may renew, and others by access lists."""
    with at.connect() as client:
        found = _described(client, owners)
    rows = [_row(token) for token in sorted(found, key=lambda token: (token.issue_timestamp, token.token_id))]
    _show(Output(as_json=as_json), rows, secrets=secrets)


@app.command("create")
@with_option_values
def create_token(
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    owner: Annotated[str | None, typer.Option("--owner", help="The owner, User:bob or bob; else yourself.")] = None,
    renewer: Annotated[
        list[str] | None, typer.Option("--renewer", help="Who may renew it beside its owner. May be repeated.")
    ] = None,
    max_life: Annotated[
        str | None,
        typer.Option("--max-life", metavar="TIME", help="As 12h or 7d; by default the most that brokers allow."),
    ] = None,
    write_config: Annotated[
        Path | None,
        typer.Option("--write-config", metavar="FILE", help="Write client properties that authenticate by it."),
    ] = None,
) -> None:
    """Create a token and print its secret, once: whoever has it can authenticate as the owner."""
    from pykbroker.cli.token_config import new_file

    asked = CreateDelegationTokenRequest(
        renewers=[CreatableRenewers(*_split(each)) for each in renewer or ()],
        max_lifetime_ms=_USUAL if max_life is None else parse_duration(max_life),
    )
    with (
        new_file(write_config, at.bootstrap, at.command_config) as write,
        at.connect() as client,
    ):
        broker = client.any()
        if owner is not None:
            if broker.version(asked.API_KEY) < _FOR_OTHERS_SINCE:
                raise ClientError(
                    "This broker creates tokens for the requester alone (before KIP-373): leave --owner out."
                )
            asked.owner_principal_type, asked.owner_principal_name = _split(owner)
        answer = broker.call(asked, CreateDelegationTokenResponse)
        _raise_for(answer.error_code, "The token")
        client.wait_until(lambda: any(token.token_id == answer.token_id for token in _described(client, None)))
        made = _named(client, answer.token_id)
        write(made.token_id, made.hmac)
    _show(Output(as_json=as_json), [_row(made)], secrets=True)


@app.command("renew")
@with_option_values
def renew_token(
    token: Token,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    period: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="As 12h; by default the most that brokers allow.")
    ] = None,
) -> None:
    """Renew a token: it expires later, at its maximum lifetime at the latest."""
    period_ms = _USUAL if period is None else parse_duration(period)
    with at.connect() as client:
        request = RenewDelegationTokenRequest(_named(client, token).hmac, period_ms)
        answer = client.any().call(request, RenewDelegationTokenResponse)
    _raise_for(answer.error_code, f"Token {token}")
    _tell(Output(as_json=as_json), token, answer.expiry_timestamp_ms)


@app.command("expire")
@with_option_values
def expire_token(
    token: Token,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    period: Annotated[
        str | None, typer.Option("--in", metavar="TIME", help="As 10m; else now, which deletes it.")
    ] = None,
) -> None:
    """Expire a token, now or later. Connections authenticated by it stay open until the token would have expired."""
    period_ms = _AT_ONCE if period is None else parse_duration(period)
    with at.connect() as client:
        request = ExpireDelegationTokenRequest(_named(client, token).hmac, period_ms)
        answer = client.any().call(request, ExpireDelegationTokenResponse)
        _raise_for(answer.error_code, f"Token {token}")
        if period is None:
            client.wait_until(lambda: all(each.token_id != token for each in _described(client, None)))
    _tell(Output(as_json=as_json), token, answer.expiry_timestamp_ms)


def _described(client: Client, owners: Iterable[str] | None) -> list[DescribedDelegationToken]:
    named = [DescribeDelegationTokenOwner(*_split(owner)) for owner in owners] if owners else None
    answer = client.any().call(DescribeDelegationTokenRequest(named), DescribeDelegationTokenResponse)
    _raise_for(answer.error_code, "Tokens")
    return answer.tokens


def _named(client: Client, token_id: str) -> DescribedDelegationToken:
    """Return the token with this id; requests identify it by its secret. Raises ClientError."""
    for token in _described(client, None):
        if token.token_id == token_id:
            return token
    raise ClientError(f"There is no token {token_id} that you may see; `pykbroker tokens list` shows those.")


def _raise_for(code: int, what: str) -> None:
    try:
        raise_for(code)
    except KafkaError as error:
        raise ClientError(refusal(what, error)) from error


def _split(who: str) -> tuple[str, str]:
    kind, _, name = principal(who).partition(":")
    return kind, name


def _row(token: DescribedDelegationToken) -> dict[str, Any]:
    return {
        "token": token.token_id,
        "owner": f"{token.principal_type}:{token.principal_name}",
        "requester": f"{token.token_requester_principal_type}:{token.token_requester_principal_name}".strip(":")
        or None,
        "renewers": [f"{each.principal_type}:{each.principal_name}" for each in token.renewers],
        "issued": format_ms(token.issue_timestamp),
        "expires": format_ms(token.expiry_timestamp),
        "ends": format_ms(token.max_timestamp),
        "secret": base64.b64encode(token.hmac).decode(),
    }


def _show(out: Output, rows: list[dict[str, Any]], *, secrets: bool) -> None:
    if not secrets:
        for row in rows:
            del row["secret"]
    if out.as_json:
        out.json(rows)
    elif rows:
        out.table(_TABLE | _SECRET if secrets else _TABLE, rows)
    else:
        out.remark("There are no such tokens.")


def _tell(out: Output, token: str, expires_ms: int) -> None:
    if out.as_json:
        out.json({"token": token, "expires": format_ms(expires_ms)})
    else:
        out.line(f"{token} expires at {format_ms(expires_ms)}")
