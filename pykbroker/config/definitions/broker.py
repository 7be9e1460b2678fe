"""All settings of a broker, by name."""

from typing import Final

from pykbroker.config.definitions.coordinators import COORDINATORS
from pykbroker.config.definitions.logs import LOGS
from pykbroker.config.definitions.quorum import QUORUM
from pykbroker.config.definitions.remote_storage import REMOTE_STORAGE
from pykbroker.config.definitions.security import SECURITY
from pykbroker.config.definitions.server import SERVER
from pykbroker.config.setting import Setting

BROKER_SETTINGS: Final[dict[str, Setting]] = {**SERVER, **LOGS, **COORDINATORS, **QUORUM, **SECURITY, **REMOTE_STORAGE}
