"""SCRAM credentials: AlterUserScramCredentials and DescribeUserScramCredentials."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

SHA_256, SHA_512 = 1, 2


def describe(*users: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest([UserName(user) for user in users])


def upsert(*users: tuple[str, int, int]) -> AlterUserScramCredentialsRequest:
    """User, mechanism, iterations."""
    return AlterUserScramCredentialsRequest(
        [], [ScramCredentialUpsertion(*user, b"salt", b"password") for user in users]
    )


def delete(*users: tuple[str, int]) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest([ScramCredentialDeletion(*user) for user in users], [])


def code_is(code: int):
    return lambda answer: answer.results[0].error_code == code


@case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
def credentials_come_and_go(ask: Ask) -> None:
    user = ask.name("user")
    ask(describe(user))
    ask(upsert((user, SHA_256, 4096)))
    ask.until(code_is(0), describe(user))
    ask(upsert((user, SHA_512, 8192)))
    ask.until(lambda answer: len(answer.results[0].credential_infos) == 2, describe(user))
    ask(upsert((user, SHA_256, 5000)))
    ask.until(lambda answer: 5000 in [info.iterations for info in answer.results[0].credential_infos], describe(user))
    ask(DescribeUserScramCredentialsRequest(None))
    ask(describe())
    ask(delete((user, SHA_256)))
    ask.until(lambda answer: len(answer.results[0].credential_infos) == 1, describe(user))
    ask(delete((user, SHA_256)))
    ask(delete((user, SHA_512)))
    ask.until(code_is(91), describe(user))


@case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
def credentials_that_are_refused(ask: Ask) -> None:
    user = ask.name("user")
    for mechanism, iterations in ((0, 4096), (3, 4096), (-1, 0), (1, 4095), (1, 16385), (2, 4095), (2, 16385), (1, -1)):
        ask(upsert((user, mechanism, iterations)))
    ask(upsert(("", SHA_256, 4096)))
    ask(upsert(("", 7, 1)))
    for name, mechanism in ((user, SHA_256), (user, 0), (user, 9), ("", SHA_256)):
        ask(delete((name, mechanism)))
    ask(AlterUserScramCredentialsRequest([], []))
    ask(AlterUserScramCredentialsRequest([], [ScramCredentialUpsertion(user, SHA_256, 4096, b"", b"")]))


@case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
def the_same_user_twice(ask: Ask) -> None:
    user, other = ask.name("user"), ask.name("other")
    ask(upsert((user, SHA_256, 4096), (user, SHA_512, 4096), (other, SHA_256, 4096)))
    ask.until(code_is(0), describe(other))
    ask(describe(user))
    ask(delete((other, SHA_256), (other, SHA_256)))
    ask(delete((other, SHA_256), (other, SHA_512)))
    both = [ScramCredentialUpsertion(other, SHA_256, 4096, b"salt", b"password")]
    ask(AlterUserScramCredentialsRequest([ScramCredentialDeletion(other, SHA_256)], both))
    ask(AlterUserScramCredentialsRequest([ScramCredentialDeletion(other, SHA_512)], both))
    ask(delete((other, SHA_256)))
    ask.until(code_is(91), describe(other))


@case(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS)
def users_without_credentials(ask: Ask) -> None:
    user, other = ask.name("user"), ask.name("other")
    ask(describe(user, other))
    ask(describe(user, user))
    ask(describe(user, other, user, user))
    ask(describe(""))
    ask(describe())
    ask(DescribeUserScramCredentialsRequest(None))
