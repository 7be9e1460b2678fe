"""The container's health check: asks the running broker over HTTP or, where that is off, by Kafka's protocol."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pykbroker.container import writable_files
from pykbroker.container.options import HTTP, HTTP_VARIABLE, OFF
from pykbroker.steered.http_options import parse

#: The broker's summary, as ``serve --json`` prints it, written when it is ready.
READY: Final = writable_files.RUN / "ready.json"
_PATIENCE_S: Final = 10
_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
#: Listeners in the order in which they are asked: those on which an answer needs least.
_ORDER: Final = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")


def main(environment: Mapping[str, str] = os.environ, ready: Path = READY) -> int:
    """Return the exit status: 0 if the broker serves."""
    said, address = summary(ready), environment.get(HTTP_VARIABLE) or HTTP
    if said is not None and "http" in said:
        return _http_health(said["http"])
    if said is not None:
        return _kafka_health(addresses(said))
    if address != OFF:
        return _http_health(address)  # it says whether the broker starts
    print("no broker has become ready yet", file=sys.stderr)
    return 1


def summary(ready: Path = READY) -> dict[str, Any] | None:
    """Return what the running broker said when it became ready; None before."""
    try:
        said: dict[str, Any] = json.loads(writable_files.find(ready).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said


def addresses(said: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Return protocol, host and port of all listeners in a summary, in the order in which to ask them."""
    found = []
    for broker in said["brokers"]:
        for name, address in broker["listeners"].items():
            host, _, port = address.rpartition(":")
            found.append((said["protocols"][name], host.strip("[]"), int(port)))
    return sorted(found, key=lambda each: _ORDER.index(each[0]))


def _http_health(address: str) -> int:
    options = parse(address)
    connection = http.client.HTTPConnection(
        _ANYWHERE.get(options.host, options.host), options.port, timeout=_PATIENCE_S
    )
    try:
        connection.request("GET", "/ready")
        answer = connection.getresponse()
        print(answer.read(500).decode(errors="replace").strip())
    except OSError as error:
        print(f"{address} does not answer: {error}", file=sys.stderr)
        return 1
    finally:
        connection.close()
    return 0 if answer.status == http.HTTPStatus.OK else 1


def _kafka_health(listeners: Iterable[tuple[str, str, int]]) -> int:
    """One that answers is enough: brokers of a process are stopped one by one on purpose."""
    from pykbroker.client.connection import BrokerConnection
    from pykbroker.client.errors import ClientError
    from pykbroker.security.client.settings import ClientSecurity
    from pykbroker.wire.errors import KafkaError

    for protocol, host, port in listeners:
        security = ClientSecurity(protocol, _any_certificate()) if protocol.endswith("SSL") else None
        try:  # ApiVersions is answered before a client authenticates
            BrokerConnection(host, port, timeout_s=_PATIENCE_S, client_id="health", security=security).close()
        except (ClientError, KafkaError) as error:
            if not _wants_certificate(error):
                print(f"{host}:{port} ({protocol}): {error}", file=sys.stderr)
                continue
        print(f"{host}:{port} ({protocol}) serves")
        return 0
    return 1


def _any_certificate() -> ssl.SSLContext:
    """The certificate is not verified: whether a process of this machine answers is asked, and nothing is sent to it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _wants_certificate(error: Exception) -> bool:
    """Whether the listener demands a certificate of its client: then it serves."""
    cause = error.__cause__
    return isinstance(cause, ssl.SSLError) and "ALERT" in (cause.reason or "")
