"""Mechanisms as settings ask for them: what is refused at the start, and where keys come from."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.listener_security import MechanismSettings, sasl_settings
from pykbroker.config.setting import ConfigError
from pykbroker.process.mechanisms import Mechanisms
from pykbroker.runtime.clock import SystemClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.security.sasl.mechanism import Mechanism
from pykbroker.tests.kit.tokens import first_message, issuer, key_set, unsecured

BEARER = "org.apache.kafka.common.security.oauthbearer"
SIGNED = f"{BEARER}.OAuthBearerValidatorCallbackHandler"
URL = "sasl.oauthbearer.jwks.endpoint.url"
CLOCK = SystemClock()


def made(name: str, module: str, **settings: str) -> Mechanism:
    cluster = SimpleNamespace(runtime=SimpleNamespace(clock=CLOCK))
    return Mechanisms(lambda: cluster).made(settings_of(name, module, settings))  # type: ignore[arg-type,return-value]


def settings_of(name: str, module: str, settings: Mapping[str, str]) -> MechanismSettings:
    prefix = f"listener.name.sasl.{name.lower()}."
    config = BrokerConfig(
        {
            "sasl.enabled.mechanisms": name,
            f"{prefix}sasl.jaas.config": module,
            **{prefix + key: text for key, text in settings.items()},
        }
    )
    return sasl_settings(config, "SASL").mechanisms[0]


#: Tokens are taken whatever their audience and issuer.
UNVERIFIED = {f"sasl.oauthbearer.allow.unverified.{claim}": "true" for claim in ("audience", "issuer")}


def bearer_settings(url: str) -> MechanismSettings:
    """Of signed tokens."""
    settings = {"sasl.server.callback.handler.class": SIGNED, URL: url} | UNVERIFIED
    return settings_of("OAUTHBEARER", f"{BEARER}.OAuthBearerLoginModule required;", settings)


def bearer(options: str = "", **settings: str) -> Mechanism:
    return made("OAUTHBEARER", f"{BEARER}.OAuthBearerLoginModule required {options};", **settings)


def signed(url: str | None, options: str = "", **settings: str) -> Mechanism:
    handler = {"sasl.server.callback.handler.class": SIGNED} | ({} if url is None else {URL: url})
    return bearer(options, **(UNVERIFIED | handler | settings))


@contextmanager
def served(answer: str) -> Iterator[str]:
    """The address of a server that answers this to all."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/keys"
        server.shutdown()
        thread.join()


def let_in(mechanism: Mechanism, token: str) -> bool:
    exchange = mechanism()
    exchange.evaluate(first_message(token))
    return exchange.result is not None


def test_unsecured_tokens_are_for_those_who_ask_for_nothing_else() -> None:
    assert let_in(bearer(), unsecured(CLOCK.now_ms()))
    assert not let_in(bearer(), issuer().sign(CLOCK.now_ms()))


def test_keys_of_a_file_and_of_an_address(tmp_path: Path) -> None:
    path = tmp_path / "the keys.json"
    path.write_text(key_set(issuer()))
    good, stranger = (who.sign(CLOCK.now_ms()) for who in (issuer(), issuer("stranger")))
    with served(key_set(issuer())) as url:
        for mechanism in (signed(path.as_uri()), signed(url)):
            assert let_in(mechanism, good)
            assert not let_in(mechanism, stranger)
            assert not let_in(mechanism, unsecured(CLOCK.now_ms()))


def test_an_audience_and_an_issuer_are_of_the_mechanism(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(key_set(issuer()))
    rules = {"sasl.oauthbearer.expected.audience": "a,b", "sasl.oauthbearer.expected.issuer": "me"}
    mechanism = signed(path.as_uri(), **rules)
    assert let_in(mechanism, issuer().sign(CLOCK.now_ms(), aud="b", iss="me"))
    assert not let_in(mechanism, issuer().sign(CLOCK.now_ms(), aud="b"))


@pytest.mark.parametrize("claim", ["audience", "issuer"])
def test_whoever_takes_any_audience_or_issuer_says_so(tmp_path: Path, claim: str) -> None:
    """As Kafka 4.4 requires."""
    path = tmp_path / "keys.json"
    path.write_text(key_set(issuer()))
    unverified = f"sasl.oauthbearer.allow.unverified.{claim}"
    with pytest.raises(ConfigError, match=f"expected.{claim} must be set, or {unverified}=true"):
        signed(path.as_uri(), **{unverified: "false"})
    signed(path.as_uri(), **{unverified: "false", f"sasl.oauthbearer.expected.{claim}": "this"})


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (None, "needs sasl.oauthbearer.jwks.endpoint.url"),
        ("file:/nowhere/keys.json", "No such file"),
        ("ftp://localhost/keys.json", "begins with file:, http: or https:"),
        ("http://127.0.0.1:1/keys", "returned no keys"),
    ],
)
def test_keys_that_cannot_be_had_end_the_start(url: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        signed(url)


def test_an_address_of_something_else_ends_the_start() -> None:
    with served("<html>") as url, pytest.raises(ConfigError, match="not a key set"):
        signed(url)


@pytest.mark.parametrize("begun", [True, False])
def test_no_address_is_asked_on_the_loop_while_the_broker_runs(tmp_path: Path, begun: bool) -> None:
    """Whoever may alter settings could stop it for as long as somebody there takes to answer."""
    path = tmp_path / "keys.json"
    path.write_text(key_set(issuer()))
    runtime = Runtime(CLOCK, random.Random(1))
    cluster: Any = SimpleNamespace(runtime=runtime)
    mechanisms = Mechanisms(lambda: cluster)
    if begun:
        mechanisms.made(bearer_settings(path.as_uri()))
    mechanisms.follow(cluster)
    with served(key_set(issuer())) as url, pytest.raises(ConfigError, match="when the broker starts"):
        mechanisms.made(bearer_settings(url))
    assert let_in(mechanisms.made(bearer_settings(path.as_uri())), issuer().sign(CLOCK.now_ms()))


def test_classes_of_java_are_not_run() -> None:
    with pytest.raises(ConfigError, match=r"com\.example\.Handler, and classes of Java"):
        bearer(**{"sasl.server.callback.handler.class": "com.example.Handler"})
    with pytest.raises(ConfigError, match=r"com\.example\.Validator, and classes of Java"):
        signed("file:/x", **{"sasl.oauthbearer.jwt.validator.class": "com.example.Validator"})
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required;"
    with pytest.raises(ConfigError, match="take it out"):
        made("PLAIN", plain, **{"sasl.server.callback.handler.class": SIGNED})
    with pytest.raises(ConfigError, match="the login module of OAUTHBEARER is"):
        made("OAUTHBEARER", plain)


def test_a_wrong_option_and_an_unknown_mechanism_end_the_start() -> None:
    with pytest.raises(ConfigError, match="AllowableClockSkewMs"):
        bearer('unsecuredValidatorAllowableClockSkewMs="soon"')
    with pytest.raises(ConfigError, match=r"CRAM-MD5 is not served: PLAIN, .* and GSSAPI are"):
        made("CRAM-MD5", "com.example.Module required;")
