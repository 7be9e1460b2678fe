"""Where the HTTP side listens, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.steered.http_options import HttpOptions, check, parse

_PLAIN = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:9092"})
_PROTECTED = BrokerConfig(
    {
        "listeners": "PLAINTEXT://127.0.0.1:9092,OUTSIDE://:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:SASL_SSL",
    }
)
_AUTHORIZED = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:9092", "authorizer.class.name": STANDARD_AUTHORIZER})


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("8080", "127.0.0.1", 8080, True),
        ("localhost:0", "localhost", 0, True),
        ("127.8.0.1:8080", "127.8.0.1", 8080, True),
        ("[::1]:8080", "::1", 8080, True),
        ("0.0.0.0:8080", "0.0.0.0", 8080, False),
        ("[::]:8080", "::", 8080, False),
        ("broker.example:65535", "broker.example", 65535, False),
    ],
)
def test_an_address(text: str, host: str, port: int, loopback: bool) -> None:
    options = parse(text)
    assert (options.host, options.port, options.is_loopback, options.token) == (host, port, loopback, None)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":", ":8080:", "::1:8080", "a:99999", "http://a:1", "a:-1"]
)
def test_no_address(text: str) -> None:
    with pytest.raises(ConfigError, match="--http wants HOST:PORT"):
        parse(text)


@pytest.mark.parametrize(
    "url", ["http://sr:8081", "https://sr.example/registry/", "http://[::1]:8081", "http://10.0.0.1"]
)
def test_a_schema_registry(url: str) -> None:
    assert parse("8080", schema_registry=url).schema_registry == url


@pytest.mark.parametrize(
    "url",
    ["", "sr:8081", "ftp://sr", "file:///etc/passwd", "http://user:secret@sr", "http://sr?x=", "http://sr#", "http://"],
)
def test_no_schema_registry(url: str) -> None:
    with pytest.raises(ConfigError, match="--schema-registry wants http://HOST:PORT"):
        parse("8080", schema_registry=url)


def test_a_token_is_the_first_line_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  0123456789abcdef \nwhat else there is\n")
    assert parse("8080", file).token == "0123456789abcdef"


@pytest.mark.parametrize(
    "content", [b"", b"short\n", b"0123456789 abcdef", b"0123456789abcde\xff", b"\n0123456789abcdef"]
)
def test_a_token_that_is_none(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"--http-token-file {file}"):
        parse("8080", file)


def test_a_token_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        parse("8080", tmp_path / "missing")


def test_a_protected_broker_wants_a_token() -> None:
    check(HttpOptions("127.0.0.1", 0), _PLAIN)
    for protected, why in ((_PROTECTED, r"OUTSIDE \(SASL_SSL\) are protected"), (_AUTHORIZED, "authorizer.class.name")):
        check(HttpOptions("127.0.0.1", 0, token="0123456789abcdef"), protected)
        with pytest.raises(ConfigError, match=f"{why}.*--http-token-file"):
            check(HttpOptions("127.0.0.1", 0), protected)
