"""All settings of a broker, by name: those of the file, and those that can be given at run time."""

from typing import Final

from pykbroker.config.definitions.abbreviations import CLUSTER_WIDE, LONG, MAX_LONG, MEDIUM
from pykbroker.config.definitions.coordinators import COORDINATORS
from pykbroker.config.definitions.logs import LOGS
from pykbroker.config.definitions.quorum import QUORUM
from pykbroker.config.definitions.remote_storage import REMOTE_STORAGE
from pykbroker.config.definitions.security import SECURITY
from pykbroker.config.definitions.server import SERVER
from pykbroker.config.rules import at_least
from pykbroker.config.setting import Setting, table

BROKER_SETTINGS: Final[dict[str, Setting]] = {**SERVER, **LOGS, **COORDINATORS, **QUORUM, **SECURITY, **REMOTE_STORAGE}

DYNAMIC_ONLY: Final[dict[str, Setting]] = table(
    Setting("leader.replication.throttled.rate", LONG, MAX_LONG, MEDIUM, at_least(0), CLUSTER_WIDE),
    Setting("follower.replication.throttled.rate", LONG, MAX_LONG, MEDIUM, at_least(0), CLUSTER_WIDE),
    Setting("replica.alter.log.dirs.io.max.bytes.per.second", LONG, MAX_LONG, MEDIUM, at_least(0), CLUSTER_WIDE),
)
"""Limits of replication traffic (KIP-73). They can be given at run time alone: a file that has them has a mistake."""

DYNAMIC_SETTINGS: Final[dict[str, Setting]] = {**BROKER_SETTINGS, **DYNAMIC_ONLY}
