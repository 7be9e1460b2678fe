"""Client properties for authentication by a delegation token: those of its requester, with another login."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pykbroker.cli import command_config
from pykbroker.cli.options import address
from pykbroker.client.errors import UsageError
from pykbroker.security.client.scram import ALGORITHMS
from pykbroker.storage.properties import text_of

_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
#: Settings of the requester's own login.
_HIS = ("sasl.", "ssl.keystore.", "ssl.key.", "bootstrap.servers")


@contextmanager
def new_file(path: Path | None, bootstrap: str | None, config: Path | None) -> Iterator[Callable[[str, bytes], None]]:
    """Yield a function that writes a token's id and secret into a new file that only its owner can read.

    Without a path it does nothing; if the context fails, no file remains. Raises UsageError before a token is created.
    """
    if path is None:
        yield lambda *_: None
        return
    settings = command_config.read(config)
    if settings.get("security.protocol", "") == "SSL":
        raise UsageError("A token is for listeners with SASL, and this one has none: leave --write-config out.")
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"--write-config {path} cannot be written: {error.strerror}.") from error
    with os.fdopen(file, "w", encoding="iso-8859-1") as lines:

        def write(token_id: str, hmac: bytes) -> None:
            lines.write(text_of(by_token(settings, address(bootstrap, settings), token_id, hmac)))

        try:
            yield write
        except BaseException:
            path.unlink()
            raise


def by_token(settings: Mapping[str, str], bootstrap: str, token_id: str, hmac: bytes) -> dict[str, str]:
    """Return ``settings`` with the token as login, by their SCRAM mechanism or else SCRAM-SHA-256."""
    mechanism = settings.get("sasl.mechanism", "")
    secret = base64.b64encode(hmac).decode()
    return {
        "bootstrap.servers": bootstrap,
        **{name: value for name, value in settings.items() if not name.startswith(_HIS)},
        "sasl.mechanism": mechanism if mechanism in ALGORITHMS else next(iter(ALGORITHMS)),
        "sasl.jaas.config": f'{_MODULE} required tokenauth="true" username="{token_id}" password="{secret}";',
    }
