"""Settings that Apache Kafka's image derives from other variables, and combinations that it requires.

- Without KAFKA_LISTENERS the broker listens on the ports of the advertised listeners, on every address.
- Listeners with TLS name stores and password files by ``..._FILENAME`` and ``..._CREDENTIALS``, in the folder for secrets,
  so that passwords need not be in the environment.
- A controller without a broker advertises nothing.

(Source: the script ``configure`` of that image, Kafka 4.4.0.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

SECRETS: Final = Path("/etc/kafka/secrets")
_HOST: Final = re.compile(r"://[^:,]*:")
_SIX: Final = re.compile(r"://\[[^\]]*\]:")
_ADVERTISED: Final = "KAFKA_ADVERTISED_LISTENERS"
_LISTENERS: Final = "KAFKA_LISTENERS"


class BadEnvironment(ValueError):
    """Variables contradict each other, or name missing files; the text says what to do."""


def complete(environment: Mapping[str, str], secrets: Path = SECRETS) -> dict[str, str]:
    """Return the environment with the derived variables. Raises BadEnvironment."""
    made = dict(environment)
    if made.get("KAFKA_PROCESS_ROLES") == "controller":
        if made.pop(_ADVERTISED, ""):
            raise BadEnvironment(f"{_ADVERTISED} is not supported on a KRaft controller: take it out.")
        return made
    advertised = made.get(_ADVERTISED, "")
    if advertised and not made.get(_LISTENERS):
        made[_LISTENERS] = everywhere(advertised)
    if "SSL://" in advertised:
        _add_stores(made, secrets)
    return made


def everywhere(listeners: str) -> str:
    """Return the same listeners on every address."""
    return _HOST.sub("://0.0.0.0:", _SIX.sub("://0.0.0.0:", listeners))


def _add_stores(environment: dict[str, str], secrets: Path) -> None:
    if "KAFKA_SSL_KEYSTORE_LOCATION" not in environment and not _has_other_keys(environment):
        environment["KAFKA_SSL_KEYSTORE_LOCATION"] = str(_file(environment, "KAFKA_SSL_KEYSTORE_FILENAME", secrets))
        environment["KAFKA_SSL_KEY_PASSWORD"] = _password(environment, "KAFKA_SSL_KEY_CREDENTIALS", secrets)
        environment["KAFKA_SSL_KEYSTORE_PASSWORD"] = _password(environment, "KAFKA_SSL_KEYSTORE_CREDENTIALS", secrets)
    asks_clients = any(word in environment.get("KAFKA_SSL_CLIENT_AUTH", "") for word in ("required", "requested"))
    if asks_clients and "KAFKA_SSL_TRUSTSTORE_LOCATION" not in environment:
        environment["KAFKA_SSL_TRUSTSTORE_LOCATION"] = str(_file(environment, "KAFKA_SSL_TRUSTSTORE_FILENAME", secrets))
        environment["KAFKA_SSL_TRUSTSTORE_PASSWORD"] = _password(
            environment, "KAFKA_SSL_TRUSTSTORE_CREDENTIALS", secrets
        )


def _has_other_keys(environment: Mapping[str, str]) -> bool:
    """Whether keys are given by a listener's own settings, or as PEM settings: then no store has to be named."""
    return any(name.endswith(("_SSL_KEYSTORE_LOCATION", "_SSL_KEYSTORE_KEY")) for name in environment)


def _file(environment: Mapping[str, str], variable: str, secrets: Path) -> Path:
    name = environment.get(variable, "")
    if not name:
        raise BadEnvironment(
            f"{variable} environment variable not set: a listener with TLS is advertised, and this names a file in {secrets}."
        )
    if not (secrets / name).is_file():
        raise BadEnvironment(f"{secrets / name} file does not exist: {variable} names it, so mount it there.")
    return secrets / name


def _password(environment: Mapping[str, str], variable: str, secrets: Path) -> str:
    """Return the content of a password file without trailing line ends. Raises BadEnvironment."""
    path = _file(environment, variable, secrets)
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironment(f"{path} cannot be read: {error}") from error
