"""The TLS of a client, made of Kafka's settings of clients."""

from __future__ import annotations

import ssl

from pykbroker.security.tls.openssl import believe, context_of, load_key
from pykbroker.security.tls.settings import TlsSettings
from pykbroker.security.tls.stores import read_key_store, read_trust_store


def client_context(settings: TlsSettings, *, check_names: bool) -> ssl.SSLContext:
    """Believes who the trust store says, and shows the key store's certificate to who asks for one. Without ``check_names``
    a certificate that is believed is good for every host. Raises TlsError.
    """
    context = context_of(settings, ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_names
    believe(context, read_trust_store(settings.trust_store), ssl.Purpose.SERVER_AUTH)
    material = read_key_store(settings.key_store)
    if material is not None:
        load_key(context, material)
    return context
