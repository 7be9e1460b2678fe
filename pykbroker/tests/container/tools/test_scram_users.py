"""SCRAM users as Kafka's commands write them."""

from __future__ import annotations

import base64
import hashlib

import pytest

from pykbroker.container.tools.running import ToolError
from pykbroker.container.tools.scram_users import credential, scram_user
from pykbroker.controller.scram import Upsertion


def test_a_password_becomes_what_is_kept_of_it() -> None:
    salt = base64.b64encode(b"salt of a user").decode()
    made = credential(f"SCRAM-SHA-512=[iterations=5000,salt={salt},password=secret]")
    salted = hashlib.pbkdf2_hmac("sha512", b"secret", b"salt of a user", 5000)
    assert made == Upsertion("", 2, 5000, b"salt of a user", salted)


def test_salts_are_never_the_same() -> None:
    text = "SCRAM-SHA-256=[name=alice,password=secret]"
    assert scram_user(text).salt != scram_user(text).salt
    assert (scram_user(text).name, scram_user(text).iterations) == ("alice", 4096)


@pytest.mark.parametrize("password", ["a,b", 'say "hi"', "=[x]"])
def test_what_is_in_quotes_may_hold_anything(password: str) -> None:
    quoted = password.replace(chr(34), chr(92) + chr(34))
    salt = base64.b64encode(b"s").decode()
    made = credential(f'SCRAM-SHA-256=[name=a,password="{quoted}",salt={salt}]')
    assert made.salted_password == hashlib.pbkdf2_hmac("sha256", password.encode(), b"s", 4096)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SCRAM-SHA-1=[name=a,password=sesame]", "is written SCRAM-SHA-256="),
        ("SCRAM-SHA-256=[name=a]", "needs a password"),
        ("SCRAM-SHA-256=[password=sesame]", "needs a name"),
        ("SCRAM-SHA-256=[name=a,password=sesame,iterations=4095]", "between 4096 and 16384"),
        ("SCRAM-SHA-256=[name=a,password=sesame,iterations=many]", "are a number"),
        ("SCRAM-SHA-256=[name=a,password=sesame,salt=?]", "is base64"),
        ("SCRAM-SHA-256=[name=a,password=sesame,colour=red]", "by name, password"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(text: str, said: str) -> None:
    with pytest.raises(ToolError, match=said) as refused:
        scram_user(text)
    assert "sesame" not in str(refused.value)
