"""Translates security settings of Kafka's clients into those of librdkafka and confluent-kafka; stores become inline PEM."""

from __future__ import annotations

from collections.abc import Mapping

from pykbroker.security.client.mechanisms import user_and_password
from pykbroker.security.client.tls import CHECKS_NAMES, tls_values
from pykbroker.security.tls.stores import read_key_store, read_trust_store


def librdkafka(settings: Mapping[str, str]) -> dict[str, str]:
    """The security settings for librdkafka; the given ones must be valid (``client_security`` checks them). Raises ValueError for
    OAUTHBEARER and GSSAPI, which have no user and password.
    """
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    translated = {"security.protocol": protocol}
    if protocol.endswith("SSL"):
        translated |= _tls(settings)
    if protocol.startswith("SASL"):
        mechanism, user, password = user_and_password(settings)
        translated |= {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}
    return translated


def _tls(settings: Mapping[str, str]) -> dict[str, str]:
    values = tls_values(settings)
    checks = settings.get(CHECKS_NAMES, "https").strip().lower()
    translated = {CHECKS_NAMES: checks or "none"}
    if (trusted := read_trust_store(values.trust_store)) is not None:
        translated["ssl.ca.pem"] = trusted
    if (own := read_key_store(values.key_store)) is not None:
        translated |= {"ssl.key.pem": own.key, "ssl.certificate.pem": "\n".join(own.chain)}
        if own.password is not None:
            translated["ssl.key.password"] = own.password
    return translated
