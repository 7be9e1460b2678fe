"""The JAAS file that ``KAFKA_OPTS`` names for a JVM, as settings of the listeners with SASL.

Of such a listener Kafka looks for ``sasl.jaas.config`` with the listener's and the mechanism's name first, then for the file's
entry ``<listener>.KafkaServer`` (in lower case), then for ``KafkaServer``. An entry has login modules for several mechanisms; a
mechanism takes those of its own class. (Source: JaasContext.loadServerContext of Kafka 4.4.0.)
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pykbroker.config.listeners import DEFAULT_PROTOCOLS, protocol_map
from pykbroker.container.derived import BadEnvironment
from pykbroker.security.jaas import JaasError, LoginModule, parse_jaas_file

OPTIONS: Final = "KAFKA_OPTS"
_PROPERTY: Final = "-Djava.security.auth.login.config="
_ENTRY: Final = "KafkaServer"
#: The end of the class name of each mechanism's login module.
_MODULES: Final = {
    "PLAIN": ".PlainLoginModule",
    "SCRAM-SHA-256": ".ScramLoginModule",
    "SCRAM-SHA-512": ".ScramLoginModule",
    "OAUTHBEARER": ".OAuthBearerLoginModule",
    "GSSAPI": ".Krb5LoginModule",
}


def settings(environment: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that the file adds to ``given``. Raises BadEnvironment for a file that cannot be used."""
    path = named(environment)
    missing = {} if path is None else _missing(given)
    if path is None or not missing:
        return {}
    try:
        entries = parse_jaas_file(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironment(f"{OPTIONS} names the JAAS file {path}, which cannot be read: {error}") from error
    except JaasError as error:
        raise BadEnvironment(f"{OPTIONS} names the JAAS file {path}: {error}") from error
    added = {}
    for name, (listener, mechanism) in missing.items():
        modules = entries.get(f"{listener}.{_ENTRY}", entries.get(_ENTRY, []))
        module = _of(mechanism, modules)
        if module is not None:
            added[name] = module.text()
    return added


def named(environment: Mapping[str, str]) -> Path | None:
    """Return the file that the options of a JVM name; the last one counts."""
    text = environment.get(OPTIONS, "")
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed
        words = text.split()
    found = [word.removeprefix(_PROPERTY) for word in words if word.startswith(_PROPERTY)]
    return Path(found[-1].removeprefix("=")) if found else None  # `==` takes the place of Java's own files


def _missing(given: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the settings that listeners with SASL need and lack, with listener and mechanism."""
    try:
        protocols = protocol_map(given.get("listener.security.protocol.map", "")) or DEFAULT_PROTOCOLS
    except ValueError:  # the start says so
        return {}
    found = {}
    for entry in given.get("listeners", "").split(","):
        listener = entry.partition("://")[0].strip()
        if protocols.get(listener.upper(), "").startswith("SASL"):
            own = f"listener.name.{listener.lower()}."
            said = given.get(f"{own}sasl.enabled.mechanisms") or given.get("sasl.enabled.mechanisms") or "GSSAPI"
            for mechanism in filter(None, map(str.strip, said.split(","))):
                name = f"{own}{mechanism.lower()}.sasl.jaas.config"
                if name not in given:
                    found[name] = (listener.lower(), mechanism.upper())
    return found


def _of(mechanism: str, modules: list[LoginModule]) -> LoginModule | None:
    end = _MODULES.get(mechanism)
    if end is None:  # of a mechanism that somebody else wrote; the start says what it does not know
        return modules[0] if modules else None
    return next((module for module in modules if module.name.endswith(end)), None)
