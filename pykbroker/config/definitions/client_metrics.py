"""Settings of a client metrics subscription (KIP-714)."""

from pykbroker.config.definitions.abbreviations import INT, LIST, MEDIUM
from pykbroker.config.rules import UniqueList
from pykbroker.config.setting import Setting, table

CLIENT_METRICS_SETTINGS = table(
    Setting("metrics", LIST, (), MEDIUM, UniqueList()),
    Setting("interval.ms", INT, 300_000, MEDIUM),
    Setting("match", LIST, (), MEDIUM, UniqueList()),
)
