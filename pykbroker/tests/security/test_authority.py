"""Certificates that the strictest of clients believe."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest

from pykbroker.security.tls.context import ServerTls
from pykbroker.security.tls.settings import KeyStoreSettings, TlsSettings
from pykbroker.tests.kit.certificates import HOSTS, authority, broker


@pytest.mark.parametrize("host", HOSTS)
def test_a_client_that_overlooks_nothing_believes_a_broker(host: str) -> None:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python asks for by itself from 3.13 on
    client.load_verify_locations(cadata=authority().certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server, server_hostname=host)
    own = broker()
    server = ServerTls(TlsSettings(KeyStoreSettings("PEM", key=own.key, certificate_chain=own.chain)))
    answers = server.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (asks, answers, asks, answers):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert asks.getpeercert()
