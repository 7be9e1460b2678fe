"""Builds a client's SASL mechanism from ``sasl.mechanism`` and the login module of ``sasl.jaas.config``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pykbroker.security.client.login import Mechanism
from pykbroker.security.client.oauthbearer import OAuthBearerLogin
from pykbroker.security.client.plain import PlainLogin
from pykbroker.security.client.scram import ALGORITHMS, ScramLogin
from pykbroker.security.client.tickets import with_ticket
from pykbroker.security.client.tokens import TokenEndpoint, TokenFile, UnsecuredToken, extensions
from pykbroker.security.jaas import JaasError, parse_jaas
from pykbroker.security.kerberos.login_module import LOGIN_MODULE

_MECHANISM: Final = "sasl.mechanism"
_JAAS: Final = "sasl.jaas.config"
_HANDLER: Final = "sasl.login.callback.handler.class"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_PACKAGE: Final = "org.apache.kafka.common.security"
#: The login module of each mechanism.
_MODULES: Final = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    **dict.fromkeys(ALGORITHMS, f"{_PACKAGE}.scram.ScramLoginModule"),
    "OAUTHBEARER": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": LOGIN_MODULE,
}


def mechanism(settings: Mapping[str, str], now_ms: Callable[[], int], nonce: Callable[[], str]) -> Mechanism:
    """The mechanism of the settings. ``now_ms`` is the time since the epoch; ``nonce`` makes printable text that is always
    different. Raises ValueError, of which TlsError is for an unreadable trust store of a token endpoint.
    """
    name = _name(settings)
    options = _options(settings, name)
    if name == "OAUTHBEARER":
        return _with_token(settings, options, now_ms)
    if name == "GSSAPI":
        return with_ticket(settings, options)
    user, password = _user(options, name)
    if name == "PLAIN":
        return Mechanism(name, user, lambda _: PlainLogin(user, password))
    by_token = options.get("tokenauth", "").lower() == "true"
    return Mechanism(name, user, lambda _: ScramLogin(name, user, password, nonce(), by_token=by_token))


def user_and_password(settings: Mapping[str, str]) -> tuple[str, str, str]:
    """(mechanism, user, password). Raises ValueError, also for OAUTHBEARER and GSSAPI, which have no password."""
    name = _name(settings)
    if name in ("OAUTHBEARER", "GSSAPI"):
        raise ValueError(f"{_MECHANISM} is {name}, which has neither a user name nor a password")
    return name, *_user(_options(settings, name), name)


def _name(settings: Mapping[str, str]) -> str:
    name = settings.get(_MECHANISM, "GSSAPI").strip()
    if name not in _MODULES:
        raise ValueError(f"{_MECHANISM} is {name}; it must be one of {', '.join(_MODULES)}")
    return name


def _choice(settings: Mapping[str, str], name: str) -> str:
    return f"{_MECHANISM}={name}{'' if _MECHANISM in settings else ' (the default)'}"


def _options(settings: Mapping[str, str], name: str) -> dict[str, str]:
    text = settings.get(_JAAS)
    if text is None:
        raise ValueError(
            f"{_JAAS} is not set: it has the client's credentials, for {_choice(settings, name)} as {_MODULES[name]} required ...;"
        )
    try:
        module = parse_jaas(text)
    except JaasError as error:
        raise ValueError(f"Invalid value of {_JAAS}: {error}") from error
    if module.name != _MODULES[name]:
        raise ValueError(
            f"{_JAAS} has {module.name}, but {_choice(settings, name)} needs {_MODULES[name]}: change one of them"
        )
    return module.options


def _user(options: Mapping[str, str], name: str) -> tuple[str, str]:
    for option in ("username", "password"):
        if not options.get(option):
            raise ValueError(f'{_JAAS} has no {option}="...", which {name} needs')
    return options["username"], options["password"]


def _with_token(settings: Mapping[str, str], options: Mapping[str, str], now_ms: Callable[[], int]) -> Mechanism:
    handler = settings.get(_HANDLER, "OAuthBearerUnsecuredLoginCallbackHandler").rpartition(".")[2]
    token: UnsecuredToken | TokenFile | TokenEndpoint
    if handler == "OAuthBearerUnsecuredLoginCallbackHandler":
        token, more = UnsecuredToken(options, now_ms), extensions(options)
    elif handler == "OAuthBearerLoginCallbackHandler":
        token, more = _of_issuer(settings, options), extensions(options, "extension_")
    else:
        raise ValueError(
            f"{_HANDLER} is {settings[_HANDLER]}, but Java classes cannot be run: {_PACKAGE}.oauthbearer."
            "OAuthBearerLoginCallbackHandler reads a token from a file or requests one with client id and secret"
        )
    return Mechanism("OAUTHBEARER", token.user, lambda _: OAuthBearerLogin(token, more))


def _of_issuer(settings: Mapping[str, str], options: Mapping[str, str]) -> TokenFile | TokenEndpoint:
    url = settings.get(_ENDPOINT, "")
    where = urlsplit(url)
    if where.scheme == "file":
        return TokenFile(Path(unquote(where.path)))
    if where.scheme not in ("http", "https"):
        raise ValueError(f"{_ENDPOINT} is {url!r}; it must be a file: or http(s): URL")
    if not options.get("clientId") or not options.get("clientSecret"):
        raise ValueError(f'{_JAAS} has no clientId="..." and clientSecret="...", which {url} requires')
    context = None
    if where.scheme == "https":
        from pykbroker.security.client.tls import tls_of

        context = tls_of({name: text for name, text in options.items() if name.startswith("ssl.")})
    return TokenEndpoint(url, options["clientId"], options["clientSecret"], options.get("scope"), context)
