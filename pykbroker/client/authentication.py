"""TLS and SASL for a connection, with error messages that name the setting to change."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Final

from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.security.client.login import LoginFailed, Mechanism
from pykbroker.security.client.settings import ClientSecurity
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code
from pykbroker.wire.message import Message
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

#: OpenSSL's errors if the broker does not speak TLS, and if it requires a client certificate.
_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_WANTS_CERTIFICATE: Final = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "UNKNOWN_CA",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_UNKNOWN",
)
_OTHER_NAMES: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_TAKES_ALL_NAMES: Final = "ssl.endpoint.identification.algorithm="


def with_tls(plain: socket.socket, host: str, address: str, security: ClientSecurity) -> socket.socket:
    """Return the socket after the TLS handshake, if the protocol has TLS. Raises ClientError after closing the socket."""
    if security.tls is None:
        return plain
    try:
        return security.tls.wrap_socket(plain, server_hostname=host)
    except BaseException as error:
        plain.close()
        if isinstance(error, OSError):
            raise handshake_trouble(error, address, security) from error
        raise


def handshake_trouble(error: OSError, address: str, security: ClientSecurity) -> ClientError:
    """Return the ClientError for a failed handshake, which names the setting to change."""
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{address} did not answer the TLS handshake in time; is it a plain port, or another service's?"
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAMES:
            return ClientError(
                f"The certificate of {address} is for other names ({error.verify_message.rstrip('.')}). Use one of these, or "
                f"believe it for every name with an empty {_TAKES_ALL_NAMES}"
            )
        return ClientError(
            f"The certificate of {address} is not trusted: {error.verify_message}. ssl.truststore.location says whose are."
        )
    if refused := alert_trouble(error, address):
        return refused
    reason = getattr(error, "reason", None) or error.strerror or str(error)
    if isinstance(error, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError) or reason in _NO_TLS:
        return ClientError(
            f"{address} does not speak TLS, which security.protocol={security.protocol} asks for. Is it a plain port?"
        )
    return ClientError(f"The TLS handshake with {address} failed: {_words(reason)}.")


def alert_trouble(error: OSError, address: str) -> ClientError | None:
    """Return the ClientError for a refused client certificate; with TLS 1.3 the alert comes after the client's handshake."""
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLError) and reason.endswith(_WANTS_CERTIFICATE) and "ALERT" in reason:
        return ClientError(
            f"{address} refuses the client's certificate ({_words(reason)}): ssl.keystore.location says which one is shown."
        )
    return None


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")


# SASL


def sign_in(call: Callable[..., Message], address: str, mechanism: Mechanism) -> int:
    """Authenticate; returns the session lifetime in milliseconds, 0 if it is unlimited.

    ``call`` sends a request and returns its response. Raises ClientError.
    """
    handshake = call(SaslHandshakeRequest(mechanism=mechanism.name), SaslHandshakeResponse)
    assert isinstance(handshake, SaslHandshakeResponse)
    if handshake.error_code:
        raise _no_handshake(handshake, address, mechanism)
    try:
        return _exchange(call, address, mechanism)
    except LoginFailed as error:
        raise ClientError(f"Authentication at {address} as {mechanism.user} failed: {error}.") from error


def _exchange(call: Callable[..., Message], address: str, mechanism: Mechanism) -> int:
    login = mechanism.begin(address.rpartition(":")[0])
    token: bytes | None = login.first()
    lifetime_ms = 0
    while token is not None:
        answer = call(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse)
        assert isinstance(answer, SaslAuthenticateResponse)
        if answer.error_code:
            raise _refused(answer, address, mechanism)
        lifetime_ms = answer.session_lifetime_ms
        token = login.answer(bytes(answer.auth_bytes))
    return lifetime_ms


def _no_handshake(answer: SaslHandshakeResponse, address: str, mechanism: Mechanism) -> ClientError:
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        there = ", ".join(answer.mechanisms)
        return ClientError(f"{address} does not have sasl.mechanism={mechanism.name}; it has {there}.")
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return ClientError(f"{address} does not use SASL: its security.protocol is PLAINTEXT or SSL.")
    return _refused(answer, address, mechanism)


def _refused(
    answer: SaslHandshakeResponse | SaslAuthenticateResponse, address: str, mechanism: Mechanism
) -> ClientError:
    error = KafkaError(error_code(answer.error_code), getattr(answer, "error_message", None) or None)
    return ClientError(
        f"{address} refuses {mechanism.user} by {mechanism.name}: {error.message.rstrip('.')} ({error.code.name})."
    )
