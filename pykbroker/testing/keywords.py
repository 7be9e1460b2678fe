"""The keywords of ``Kafka``, for type checkers and editors alone: its options beside the settings of ``setting_keywords.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pykbroker.seeding.reading import Seedable
from pykbroker.testing.setting_keywords import SettingKeywords


class Keywords(SettingKeywords, total=False):
    """``Kafka`` has what each option is for, and the defaults."""

    brokers: int
    racks: Sequence[str] | None
    host: str
    port: int
    data_dir: str | Path | None
    clock: str
    as_version: str | None
    strict_faults: bool
    seed: Seedable | None
    chaos: str | int | None
    process: bool
    security: str | None
    users: Mapping[str, str] | None
    http: str | int | None
    schema_registry: bool | str | int
