"""Whether a broker serves, for whoever asks in its container."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from pykbroker.container.health import addresses, main, summary
from pykbroker.http.side import HttpSide
from pykbroker.steered.http_options import HttpOptions
from pykbroker.tests.kit.running import running_broker
from pykbroker.tests.kit.secured import sasl_settings, secured_node, tls_settings

OFF = {"PYKBROKER_HTTP": "off"}
PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


def test_over_http_where_it_is_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def ask() -> list[int]:
        async with running_broker(tmp_path / "data") as broker:
            side = HttpSide(broker.node, HttpOptions("127.0.0.1", 0), cast("Any", None))
            await side.open()
            port = str(broker.node.services["http"]).rpartition(":")[2]
            environment = {"PYKBROKER_HTTP": f"0.0.0.0:{port}"}
            ready = tmp_path / "ready.json"
            before = await asyncio.to_thread(main, environment, ready)
            ready.write_text(json.dumps(broker.node.summary()))
            well = await asyncio.to_thread(main, {}, ready)
            await side.close()
            return [before, well, await asyncio.to_thread(main, environment, ready)]

    assert asyncio.run(ask()) == [0, 0, 1]
    said = capsys.readouterr()
    assert "ready" in said.out
    assert "does not answer" in said.err


def test_by_kafkas_protocol_where_http_is_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def ask() -> list[int]:
        ready = tmp_path / "ready.json"
        before = main(OFF, ready)
        async with running_broker(tmp_path / "data") as broker:
            ready.write_text(json.dumps(broker.node.summary()))
            well = await asyncio.to_thread(main, OFF, ready)
        return [before, well, await asyncio.to_thread(main, OFF, ready)]

    assert asyncio.run(ask()) == [1, 0, 1]
    said = capsys.readouterr()
    assert "(PLAINTEXT) serves" in said.out
    assert "no broker has become ready yet" in said.err
    assert "Cannot connect" in said.err


def test_every_security_protocol_is_asked_without_credentials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each listener alone, one that demands certificates among them."""
    settings = {
        **tls_settings(tmp_path),
        **sasl_settings("sasl_plaintext", "sasl_ssl"),
        "listener.name.asks.ssl.client.auth": "required",
        "listener.name.asks.ssl.enabled.protocols": "TLSv1.2",
    }
    listeners = {**dict.fromkeys(PROTOCOLS, ""), "ASKS": "SSL", "ASKS3": "SSL"}
    settings["listener.name.asks3.ssl.client.auth"] = "required"

    async def ask() -> list[int]:
        async with secured_node(
            tmp_path, {name: protocol or name for name, protocol in listeners.items()}, settings
        ) as broker:
            said, statuses = broker.node.summary(), []
            for name, address in said["brokers"][0]["listeners"].items():
                alone = {**said, "brokers": [{"id": 1, "listeners": {name: address}}]}
                (tmp_path / "ready.json").write_text(json.dumps(alone))
                statuses.append(await asyncio.to_thread(main, OFF, tmp_path / "ready.json"))
            return statuses

    assert asyncio.run(ask()) == [0] * 6
    assert capsys.readouterr().out.count(" serves\n") == 6


def test_the_listener_that_needs_least_comes_first() -> None:
    said = {
        "brokers": [{"id": 1, "listeners": {"A": "localhost:1", "B": "[::1]:2", "C": "localhost:3"}}],
        "protocols": {"A": "SSL", "B": "PLAINTEXT", "C": "SASL_PLAINTEXT"},
    }
    assert addresses(said) == [("PLAINTEXT", "::1", 2), ("SASL_PLAINTEXT", "localhost", 3), ("SSL", "localhost", 1)]


def test_a_damaged_summary_is_none(tmp_path: Path) -> None:
    (tmp_path / "ready.json").write_text("{")
    assert summary(tmp_path / "ready.json") is None
