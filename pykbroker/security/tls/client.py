"""Builds the TLS context of a client."""

from __future__ import annotations

import ssl

from pykbroker.security.tls.openssl import context_of, load_key, trust
from pykbroker.security.tls.settings import TlsSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store


def client_context(settings: TlsSettings, *, check_names: bool) -> ssl.SSLContext:
    """A context that trusts the trust store's certificates and presents the key store's, if requested. Without ``check_names``
    a trusted certificate is accepted for every host. Raises TlsError.
    """
    context = context_of(settings, ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_names
    trust(context, read_trust_store(settings.trust_store), ssl.Purpose.SERVER_AUTH)
    material = read_key_store(settings.key_store)
    if material is not None:
        load_key(context, material)
    return context
