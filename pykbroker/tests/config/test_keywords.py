"""Type checkers know every broker setting as a keyword of ``Kafka``, and no keyword that is none."""

from __future__ import annotations

from pykbroker.config.keywords import WRITTEN, module


def test_the_written_module_has_the_settings_of_today() -> None:
    assert WRITTEN.read_text(encoding="utf-8") == module(), "write it anew: python -m pykbroker.config.keywords"
