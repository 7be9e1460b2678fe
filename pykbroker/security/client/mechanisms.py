"""How a client signs in, of ``sasl.mechanism`` and the login module of ``sasl.jaas.config``."""

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
#: Login modules by mechanisms.
_MODULES: Final = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    **dict.fromkeys(ALGORITHMS, f"{_PACKAGE}.scram.ScramLoginModule"),
    "OAUTHBEARER": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": LOGIN_MODULE,
}


def mechanism(settings: Mapping[str, str], now_ms: Callable[[], int], nonce: Callable[[], str]) -> Mechanism:
    """Raises ValueError, and TlsError where an issuer of tokens is to be believed by a store that cannot be read."""
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
    """The name of the mechanism, a user, and his password. Raises ValueError, for OAUTHBEARER and GSSAPI as well: they have
    neither.
    """
    name = _name(settings)
    if name in ("OAUTHBEARER", "GSSAPI"):
        raise ValueError(f"{_MECHANISM} is {name}, which has neither a user's name nor a password")
    return name, *_user(_options(settings, name), name)


def _name(settings: Mapping[str, str]) -> str:
    name = settings.get(_MECHANISM, "GSSAPI").strip()
    if name not in _MODULES:
        raise ValueError(f"{_MECHANISM} is {name}: {', '.join(_MODULES)} are spoken here")
    return name


def _choice(settings: Mapping[str, str], name: str) -> str:
    return f"{_MECHANISM}={name}{'' if _MECHANISM in settings else ' (what it is where it is not set)'}"


def _options(settings: Mapping[str, str], name: str) -> dict[str, str]:
    text = settings.get(_JAAS)
    if text is None:
        raise ValueError(
            f"{_JAAS} is not set: it says who signs in, for {_choice(settings, name)} as in {_MODULES[name]} required ...;"
        )
    try:
        module = parse_jaas(text)
    except JaasError as error:
        raise ValueError(f"Invalid value of {_JAAS}: {error}") from error
    if module.name != _MODULES[name]:
        raise ValueError(
            f"{_JAAS} names {module.name}, and {_choice(settings, name)} is done by {_MODULES[name]}: write one or the other"
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
            f"{_HANDLER} is {settings[_HANDLER]}, and classes of Java are not run: {_PACKAGE}.oauthbearer."
            "OAuthBearerLoginCallbackHandler reads a token in a file, or asks for one by client id and secret"
        )
    return Mechanism("OAUTHBEARER", token.user, lambda _: OAuthBearerLogin(token, more))


def _of_issuer(settings: Mapping[str, str], options: Mapping[str, str]) -> TokenFile | TokenEndpoint:
    url = settings.get(_ENDPOINT, "")
    where = urlsplit(url)
    if where.scheme == "file":
        return TokenFile(Path(unquote(where.path)))
    if where.scheme not in ("http", "https"):
        raise ValueError(f"{_ENDPOINT} is {url!r}, and must be a file: or http(s): address")
    if not options.get("clientId") or not options.get("clientSecret"):
        raise ValueError(f'{_JAAS} has no clientId="..." and clientSecret="...", by which {url} gives tokens')
    context = None
    if where.scheme == "https":
        from pykbroker.security.client.tls import tls_of  # noqa: PLC0415 - SASL_PLAINTEXT does without

        context = tls_of({name: text for name, text in options.items() if name.startswith("ssl.")})
    return TokenEndpoint(url, options["clientId"], options["clientSecret"], options.get("scope"), context)
