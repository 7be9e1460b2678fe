"""Whether a broker serves, for whoever asks in its container."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from pykbroker.container.health import main
from pykbroker.http.side import HttpSide
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.kit.running import running_broker


def test_a_broker_that_serves_is_well_and_one_that_does_not_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def ask() -> list[int]:
        async with running_broker(tmp_path) as broker:
            side = HttpSide(broker.node, HttpOptions("127.0.0.1", 0), cast("Any", None))
            await side.open()
            port = str(broker.node.http).rpartition(":")[2]
            environment = {"PYKBROKER_HTTP": f"0.0.0.0:{port}"}
            well = await asyncio.to_thread(main, environment)
            await side.close()
            return [well, await asyncio.to_thread(main, environment)]

    assert asyncio.run(ask()) == [0, 1]
    said = capsys.readouterr()
    assert "ready" in said.out
    assert "does not answer" in said.err


def test_without_http_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main({"PYKBROKER_HTTP": "off"}) == 0
    assert "is not known" in capsys.readouterr().out
