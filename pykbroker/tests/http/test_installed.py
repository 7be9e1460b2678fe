"""The HTTP library without certificates: the broker's own client trusts the system all the same, and nobody else loses anything."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.tests.http.console.registry import registry
from pykbroker.tests.kit.certificates import authority, broker, written

_ASK = """
import asyncio, ssl, sys
from pykbroker.http.installed import side
side(own_process={own_process})
import aiohttp.connector
from pykbroker.steered.refusal import VerbRefused
from pykbroker.http.console.registry import RemoteRegistry
print(aiohttp.connector._SSL_CONTEXT_VERIFIED.cert_store_stats()["x509"], ssl.create_default_context().cert_store_stats()["x509"])
try:
    print(asyncio.run(RemoteRegistry(sys.argv[1]).schema(7, None))["text"])
except VerbRefused as refusal:
    print("refused" if "certificate verify failed" in str(refusal) else refusal)
"""


@pytest.mark.parametrize(
    ("own_process", "trusted", "said"),
    [(True, True, ["0", "1", "{}"]), (False, True, ["1", "1", "{}"]), (True, False, ["0", "0", "refused"])],
)
@pytest.mark.deep(but=1)
def test_who_trusts_the_authorities_of_the_system(
    tmp_path: Path, own_process: bool, trusted: bool, said: list[str]
) -> None:
    path = written(tmp_path, "authority.pem", authority().certificate if trusted else "")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(written(tmp_path, "broker.pem", broker().pem))
    with registry(context) as answers:
        answers.schema(7, schema="{}")
        done = subprocess.run(
            [sys.executable, "-c", _ASK.format(own_process=own_process), answers.url],
            env={**os.environ, "SSL_CERT_FILE": path, "SSL_CERT_DIR": str(tmp_path / "none")},
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.split() == said
