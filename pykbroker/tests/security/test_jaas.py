"""JAAS values as people write them, and as they get them wrong."""

from __future__ import annotations

import pytest

from pykbroker.security.jaas import JaasError, parse_jaas

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{MODULE} required;", {}),
        (f'{MODULE} required user_alice="secret";', {"user_alice": "secret"}),
        (f'{MODULE} REQUIRED\n  username = "a"\n  password="b";\n', {"username": "a", "password": "b"}),
        (f"{MODULE} required a='x \"y\"';", {"a": 'x "y"'}),
        (rf'{MODULE} required a="q\"u\\o\tte\101";', {"a": 'q"u\\o\tteA'}),
        (f'{MODULE} required "user_a-b.c"="; = // no comment";', {"user_a-b.c": "; = // no comment"}),
        (f'{MODULE} /* who */ required // why\n a="";', {"a": ""}),
        (f"{MODULE} required debug=true;", {"debug": "true"}),
    ],
)
def test_good_values(text: str, options: dict[str, str]) -> None:
    assert parse_jaas(text) == (MODULE, options)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Login module not specified"),
        (" // nothing\n", "Login module not specified"),
        (f"{MODULE};", "control flag"),
        (f'{MODULE} user_a="s3cret";', "control flag"),
        (f'{MODULE} required user_a="s3cret"', "semi-colon"),
        (f'{MODULE} required user_a="s3cret;', "an unterminated string"),
        (f"{MODULE} required user_a;", "Value not specified"),
        (f'{MODULE} required user_a=;b="s3cret";', "more than one login module"),
        (f'{MODULE} required "s3cret" user_a=;', "Value not specified"),
        (f'{MODULE} required a="s3cret"; {MODULE} required;', "more than one login module"),
    ],
)
def test_bad_values_are_refused_and_their_secrets_not_told(text: str, why: str) -> None:
    with pytest.raises(JaasError, match=why) as refused:
        parse_jaas(text)
    assert "s3cret" not in str(refused.value)
