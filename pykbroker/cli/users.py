"""``pykbroker users``: users with SCRAM credentials."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.completion import user_names
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import ConnectionOptions, Json
from pykbroker.cli.output import Output
from pykbroker.cli.passwords import new_password
from pykbroker.cli.topics import report
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, raise_for, refusal
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, MIN_ITERATIONS
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    UserName,
)

app = typer.Typer(help="List, set and remove users that sign in by SCRAM.", no_args_is_help=True)

_TABLE = {"user": "USER", "mechanism": "MECHANISM", "iterations": "ITERATIONS"}
_SALT_BYTES = 24
_MOST_ITERATIONS = 16384


class ScramMechanism(Enum):
    """A SCRAM mechanism; each has its own credentials."""

    SHA_256 = "scram-sha-256"
    SHA_512 = "scram-sha-512"

    @property
    def number(self) -> int:
        return next(number for number, name in MECHANISMS.items() if name == self.value.upper())


Mechanisms = Annotated[
    list[ScramMechanism] | None, typer.Option("--mechanism", "-m", help="This one; else both. May be repeated.")
]
User = Annotated[
    str, typer.Argument(metavar="USER", autocompletion=user_names, help="User name, without User: before it.")
]


@app.command("list")
@with_option_values
def list_users(
    users: Annotated[
        list[str] | None, typer.Argument(metavar="[USER]...", autocompletion=user_names, help="These; else all.")
    ] = None,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
) -> None:
    """List users, with the mechanisms that they have credentials for. Passwords are not stored."""
    out = Output(as_json=as_json)
    with at.connect() as client:
        found = _describe(client, users)
    rows = [row for each in found if not each.error_code for row in _rows(each)]
    if as_json:
        out.json(rows)
    elif rows:
        out.table(_TABLE, rows)
    elif not users:
        out.remark(
            "No user has SCRAM credentials. Users of PLAIN are in the brokers' settings, which no request can read."
        )
    missing = [each for each in found if each.error_code]
    if missing:
        raise ClientError("\n".join(refusal(f"User {each.user}", _error(each)) for each in missing))


@app.command("set")
@with_option_values
def set_user(
    user: User,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    mechanism: Mechanisms = None,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            min=MIN_ITERATIONS,
            max=_MOST_ITERATIONS,
            metavar="N",
            help="More make passwords slower to guess.",
        ),
    ] = MIN_ITERATIONS,
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            metavar="FILE",
            help="Its first line is the password; else it is asked for, or the first line of standard input.",
        ),
    ] = None,
) -> None:
    """Create a user, or set another password."""
    password = new_password(user, password_file)
    with at.connect() as client:
        for each in mechanism or list(ScramMechanism):  # AlterUserScramCredentials takes each user once
            salt = secrets.token_bytes(_SALT_BYTES)
            salted = hashlib.pbkdf2_hmac(HASHES[each.number], password.encode(), salt, iterations)
            made = ScramCredentialUpsertion(user, each.number, iterations, salt, salted)
            _alter(client, AlterUserScramCredentialsRequest(deletions=[], upsertions=[made]))
        wanted = {each.number for each in mechanism or list(ScramMechanism)}
        client.wait_until(lambda: wanted <= _mechanisms(client, user))
    report(Output(as_json=as_json), [(user, ErrorCode.NONE, None, "may sign in")], {ErrorCode.NONE}, what="User")


@app.command("remove")
@with_option_values
def remove_user(
    user: User,
    *,
    at: ConnectionOptions,
    as_json: Json = False,
    mechanism: Mechanisms = None,
) -> None:
    """Remove a user's credentials. Open connections stay."""
    with at.connect() as client:
        asked = [each.number for each in mechanism or ()] or sorted(_mechanisms(client, user)) or list(MECHANISMS)
        for number in asked:
            gone = ScramCredentialDeletion(user, number)
            _alter(client, AlterUserScramCredentialsRequest(deletions=[gone], upsertions=[]))
        client.wait_until(lambda: not _mechanisms(client, user) & set(asked))
    by = f" by {', '.join(MECHANISMS[number] for number in asked)}" if mechanism else ""
    report(
        Output(as_json=as_json), [(user, ErrorCode.NONE, None, f"may not sign in{by}")], {ErrorCode.NONE}, what="User"
    )


def _alter(client: Client, request: AlterUserScramCredentialsRequest) -> None:
    for result in client.controller().call(request, AlterUserScramCredentialsResponse).results:
        if result.error_code:
            error = KafkaError(error_code(result.error_code), result.error_message or None)
            raise ClientError(refusal(f"User {result.user}", error))


def _describe(client: Client, users: Iterable[str] | None) -> list[DescribeUserScramCredentialsResult]:
    """Return the users sorted by name. Raises ClientError if they cannot be described."""
    names = [UserName(name) for name in dict.fromkeys(users)] if users else None
    answer = client.any().call(DescribeUserScramCredentialsRequest(names), DescribeUserScramCredentialsResponse)
    try:
        raise_for(answer.error_code, answer.error_message)
    except KafkaError as error:
        raise ClientError(refusal("Users", error)) from error
    return sorted(answer.results, key=lambda each: each.user)


def _mechanisms(client: Client, user: str) -> set[int]:
    return {info.mechanism for each in _describe(client, [user]) for info in each.credential_infos}


def _rows(described: DescribeUserScramCredentialsResult) -> list[dict[str, Any]]:
    return [
        {
            "user": described.user,
            "mechanism": MECHANISMS.get(info.mechanism, str(info.mechanism)),
            "iterations": info.iterations,
        }
        for info in sorted(described.credential_infos, key=lambda info: info.mechanism)
    ]


def _error(described: DescribeUserScramCredentialsResult) -> KafkaError:
    return KafkaError(error_code(described.error_code), described.error_message or None)
