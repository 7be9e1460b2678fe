"""The users of SCRAM, made by the admin API."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest

SCRAM_USERS = {
    "bob": "bob-secret",
    "a=b,c": "odd",
    "sm\N{LATIN SMALL LETTER O WITH DIAERESIS}r": "x",
    "pw": "p\N{LATIN SMALL LETTER A WITH DIAERESIS}ss",
}


def add_users(address: str, users: Mapping[str, str] = SCRAM_USERS) -> None:
    """Both mechanisms for all of them; comes back when the broker knows them."""
    connection = Connection(address)
    for number, algorithm in ((1, "sha256"), (2, "sha512")):
        upsertions = [
            ScramCredentialUpsertion(
                name, number, 4096, b"salt", hashlib.pbkdf2_hmac(algorithm, word.encode(), b"salt", 4096)
            )
            for name, word in users.items()
        ]
        answer = connection.ask(AlterUserScramCredentialsRequest([], upsertions), 0)
        assert [result.error_code for result in answer.results] == [0] * len(users)
    both = dict.fromkeys(users, 2)  # the second mechanism is known later than the first
    while not both.items() <= _mechanisms(connection).items():
        pass
    connection.close()


def _mechanisms(connection: Connection) -> dict[str, int]:
    """How many each user has that the broker knows."""
    answer: Any = connection.ask(DescribeUserScramCredentialsRequest(None), 0)
    return {each.user: len(each.credential_infos) for each in answer.results}
