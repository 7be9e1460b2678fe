"""The container's health check, which asks the broker's HTTP side."""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Mapping

from pykbroker.container.options import HTTP, HTTP_VARIABLE, OFF
from pykbroker.steered.http_options import parse

_PATIENCE_S = 10
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def main(environment: Mapping[str, str] = os.environ) -> int:
    """Return the exit status: 0 if the broker is ready, or if its HTTP side is off."""
    address = environment.get(HTTP_VARIABLE) or HTTP
    if address == OFF:
        print(f"{HTTP_VARIABLE}={OFF}: whether the broker serves is not known")
        return 0
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
