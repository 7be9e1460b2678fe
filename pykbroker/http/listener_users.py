"""The users of one of the broker's listeners, over HTTP: as its clients of Kafka's protocol authenticate, with the same settings.

A user and a password of PLAIN or SCRAM come by basic authentication, a token of OAUTHBEARER as a bearer's, and where the
listener has no SASL, the client's certificate names its principal.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import secrets
from typing import TYPE_CHECKING, Any, Final

from pykbroker.config.listener_security import TLS_PROTOCOLS, tls_settings
from pykbroker.config.setting import ConfigError
from pykbroker.process.log_directories import StartFailed
from pykbroker.security.client.login import LoginFailed
from pykbroker.security.client.scram import ALGORITHMS, ScramLogin
from pykbroker.security.distinguished_names import UnreadableName, subject_name
from pykbroker.security.principals import ANONYMOUS, NoRuleApplies, user
from pykbroker.security.sasl.mechanism import CredentialsRefused
from pykbroker.security.tls.settings import TlsError

if TYPE_CHECKING:
    import ssl

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.config.listeners import Listener
    from pykbroker.network.admission import Admission
    from pykbroker.requests.authentication import Authenticating
    from pykbroker.security.sasl.mechanism import Authenticated, Exchange

log = logging.getLogger(__name__)

_NONCE_BYTES: Final = 18
#: Passwords of SCRAM that are worked on at once: each takes milliseconds, in a thread.
_AT_ONCE: Final = 2


class NotAuthenticated(Exception):
    """The credentials are missing or wrong. ``challenge`` is what the client is asked for."""

    def __init__(self, challenge: str) -> None:
        super().__init__(challenge)
        self.challenge = challenge


class ListenerUsers:
    """See the module. ``admission`` has the listener's present settings, ``config`` those of the start."""

    def __init__(self, listener: Listener, admission: Admission, config: BrokerConfig) -> None:
        self._listener = listener
        self._admission = admission
        self._config = config
        self._working = asyncio.Semaphore(_AT_ONCE)

    def tls(self) -> ssl.SSLContext | None:
        """The context for a server's handshakes; None without TLS. It hands each handshake to the context that the listener has by then,
        with a renewed certificate, say. Raises StartFailed.
        """
        name, protocol = self._listener.name, self._listener.security_protocol
        if protocol not in TLS_PROTOCOLS:
            return None
        from pykbroker.security.tls.context import ServerTls

        try:
            found = ServerTls(tls_settings(self._config, name, protocol)).context
        except (ConfigError, TlsError) as error:
            raise StartFailed(f"listener {name} ({protocol}), of the schema registry: {error}") from error
        found.sni_callback = self._with_present_certificate
        return found

    def _with_present_certificate(self, handshake: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        present = self._admission.settings.tls
        if present is not None:
            handshake.context = present

    async def principal(self, authorization: str | None, tls: ssl.SSLObject | None) -> str:
        """The principal of a request. Raises NotAuthenticated, after the listener's delay."""
        sasl, mapping = self._admission.settings.sasl, self._admission.settings.mapping
        if sasl is None:
            certificate = None if tls is None else tls.getpeercert()
            if tls is None or mapping is None or not certificate:
                return ANONYMOUS
            try:
                return user(mapping.name(subject_name(certificate, tls.getpeercert(binary_form=True))))
            except (UnreadableName, NoRuleApplies) as error:
                raise NotAuthenticated("the client's certificate names no principal here") from error
        scheme, _, given = (authorization or "").partition(" ")
        found = await self._authenticated(sasl, scheme.lower(), given.strip()) if given else None
        if found is not None:
            return user(found.name)
        if given:
            await asyncio.sleep(sasl.failed_delay_ms / 1000)
        raise NotAuthenticated("Basic" if any(each != "OAUTHBEARER" for each in sasl.mechanisms) else "Bearer")

    async def _authenticated(self, sasl: Authenticating, scheme: str, given: str) -> Authenticated | None:
        if scheme == "bearer" and "OAUTHBEARER" in sasl.mechanisms:
            first = f"n,,\x01auth=Bearer {given}\x01\x01".encode("utf-8", "surrogateescape")
            return _evaluated(sasl.mechanisms["OAUTHBEARER"](), first)
        if scheme != "basic":
            return None
        try:
            name, separator, password = base64.b64decode(given, validate=True).decode().partition(":")
        except ValueError:
            return None
        if not separator or "\0" in name + password:
            return None
        if "PLAIN" in sasl.mechanisms:
            plain = _evaluated(sasl.mechanisms["PLAIN"](), f"\0{name}\0{password}".encode())
            if plain is not None:
                return plain
        for mechanism in ALGORITHMS:
            if mechanism in sasl.mechanisms:
                found = await self._proved(mechanism, sasl.mechanisms[mechanism](), name, password)
                if found is not None:
                    return found
        return None

    async def _proved(self, mechanism: str, exchange: Exchange, name: str, password: str) -> Authenticated | None:
        """What SCRAM says to a password: the client's part of the exchange is played here."""
        login = ScramLogin(mechanism, name, password, secrets.token_urlsafe(_NONCE_BYTES))
        async with self._working:
            try:
                challenge = exchange.evaluate(login.first())
                proof = await asyncio.to_thread(login.answer, challenge or b"")
            except (CredentialsRefused, LoginFailed):
                return None
            return _evaluated(exchange, proof or b"")


def _evaluated(exchange: Exchange, token: bytes) -> Authenticated | None:
    """Who an exchange of one message authenticates; None if it refuses."""
    try:
        exchange.evaluate(token)
    except CredentialsRefused as refusal:
        log.debug("Authentication over HTTP failed: %s", refusal)
        return None
    return exchange.result


def handshake_of(transport: Any) -> ssl.SSLObject | None:
    """The TLS of a connection; None without."""
    found: ssl.SSLObject | None = None if transport is None else transport.get_extra_info("ssl_object")
    return found
