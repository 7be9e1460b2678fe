"""OAUTHBEARER by its settings: the validation of tokens, and the keys of their issuers."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from pykbroker.config.listener_security import CALLBACK_HANDLER, MechanismSettings
from pykbroker.config.setting import ConfigError
from pykbroker.extras import install_hint
from pykbroker.security.sasl.mechanism import Mechanism
from pykbroker.security.sasl.oauthbearer import OAuthBearerExchange
from pykbroker.security.sasl.unsecured_tokens import UnsecuredTokens
from pykbroker.security.tls.settings import TlsError, TrustStoreSettings

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.security.sasl.key_sets import KeySet, RemoteKeySet

log = logging.getLogger(__name__)

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_UNSECURED: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_SIGNED: Final = f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler"
_VALIDATOR: Final = "sasl.oauthbearer.jwt.validator.class"
_VALIDATORS: Final = (f"{_PACKAGE}.DefaultJwtValidator", f"{_PACKAGE}.BrokerJwtValidator")
_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_ENDPOINT: Final = "sasl.oauthbearer.jwks.endpoint."
_UNVERIFIED: Final = "sasl.oauthbearer.allow.unverified."
_REMOTE: Final = ("http", "https")


class BearerTokens:
    """The validators of one process: one set of keys for each address, shared by all listeners."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._key_sets: dict[str, KeySet | RemoteKeySet] = {}
        self._starts = True

    def mechanism(self, settings: MechanismSettings) -> Mechanism:
        """The factory of exchanges for these settings. Raises ConfigError."""
        handler = settings.callback_handler or _UNSECURED
        if handler == _UNSECURED:
            try:
                return partial(OAuthBearerExchange, UnsecuredTokens(settings.module.options, self._now_ms).validate)
            except ValueError as error:
                raise ConfigError(f"OAUTHBEARER: {error}") from error
        if handler != _SIGNED:
            raise ConfigError(
                f"{CALLBACK_HANDLER} of OAUTHBEARER is {handler}, and classes of Java are not run: write {_SIGNED}"
            )
        if (validator := settings.value(_VALIDATOR)) not in _VALIDATORS:
            raise ConfigError(f"{_VALIDATOR} is {validator}, and classes of Java are not run: take it out")
        return self._signed(settings)

    def follow(self, runtime: Runtime) -> None:
        """Refresh keys of http(s) addresses from now on; no further address is accepted, since its first read would block the loop."""
        self._starts = False
        for key_set in self._key_sets.values():
            key_set.follow(runtime)

    def _signed(self, settings: MechanismSettings) -> Mechanism:
        try:
            from pykbroker.security.sasl.signed_tokens import ClaimRules, SignedTokens
        except ImportError as error:
            raise ConfigError(f"signed tokens of OAUTHBEARER need PyJWT: {install_hint('security')}") from error
        value = settings.value
        for claim in ("audience", "issuer"):
            _check_verified(settings, claim)
        rules = ClaimRules(
            value("sasl.oauthbearer.expected.audience"),
            value("sasl.oauthbearer.expected.issuer"),
            value("sasl.oauthbearer.clock.skew.seconds"),
            value("sasl.oauthbearer.sub.claim.name"),
            value("sasl.oauthbearer.scope.claim.name"),
            any_audience=not value("sasl.oauthbearer.expected.audience") and bool(value(f"{_UNVERIFIED}audience")),
        )
        return partial(OAuthBearerExchange, SignedTokens(self._keys(settings).find, rules, self._now_ms).validate)

    def _keys(self, settings: MechanismSettings) -> KeySet | RemoteKeySet:
        url = settings.value(_URL)
        if not url:
            raise ConfigError(f"{_SIGNED} needs {_URL}: the file: or http(s): address of the issuer's keys (JWKS)")
        if url not in self._key_sets:
            if not self._starts and _scheme(url) in _REMOTE:
                raise ConfigError(
                    f"{_URL}={url}: keys of an address are first read when the broker starts: start it again"
                )
            self._key_sets[url] = _key_set(url, settings)
        return self._key_sets[url]


def _check_verified(settings: MechanismSettings, claim: str) -> None:
    """Raises ConfigError where any token of the issuer's keys would do, unless that is asked for (BrokerJwtValidator of Kafka 4.4)."""
    expected, unverified = f"sasl.oauthbearer.expected.{claim}", f"{_UNVERIFIED}{claim}"
    allowed = settings.value(unverified)
    if settings.value(expected) or allowed is None:  # None: of a release before 4.4
        return
    if not allowed:
        raise ConfigError(f"{expected} must be set, or {unverified}=true to accept tokens regardless of their {claim}")
    log.warning(
        "OAUTHBEARER accepts tokens regardless of their %s: %s is not set, and %s is", claim, expected, unverified
    )


def _scheme(url: str) -> str:
    return urlsplit(url).scheme.lower()


def _key_set(url: str, settings: MechanismSettings) -> KeySet | RemoteKeySet:
    from pykbroker.security.sasl.key_sets import KeySet, RemoteKeySet, fetch_keys
    from pykbroker.security.sasl.signed_tokens import KeySetError

    scheme = _scheme(url)
    try:
        if scheme == "file":
            return KeySet(Path(unquote(urlsplit(url).path)))
        if scheme in _REMOTE:
            times = (
                settings.value(_ENDPOINT + name) for name in ("refresh.ms", "retry.backoff.ms", "retry.backoff.max.ms")
            )
            return RemoteKeySet(partial(fetch_keys, url, _trusting(settings.module.options)), *times)
    except (OSError, KeySetError) as error:
        raise ConfigError(f"{_URL}={url}: {error}") from error
    raise ConfigError(f"{_URL}={url} is no address of keys: it begins with file:, http: or https:")


def _trusting(options: Mapping[str, Any]) -> ssl.SSLContext | None:
    """The TLS context for an https address: the login module may name a trust store, as in Kafka."""
    from pykbroker.security.tls.stores import read_trust_store

    prefix = "ssl.truststore."
    named = (options.get(prefix + name) for name in ("location", "password", "certificates"))
    try:
        trusted = read_trust_store(TrustStoreSettings(options.get(f"{prefix}type", "JKS"), *named))
    except TlsError as error:
        raise ConfigError(f"OAUTHBEARER: {error}") from error
    return None if trusted is None else ssl.create_default_context(cadata=trusted)
