"""The compose files of docs/: well-formed, and their broker starts with the variables and is well by the check that they say."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from compat_tests.harness.process import ROOT
from compat_tests.image.engine import Image
from compat_tests.image.real import RealImage

FILES = sorted((ROOT / "docs" / "compose").glob("*.yaml"))
#: Of a service, as far as our files use what the Compose Specification has; what is misspelt there is refused.
_SERVICE = {"image", "build", "hostname", "ports", "environment", "volumes", "healthcheck", "depends_on", "networks"}
#: Registers a schema of each type, and reads them back by their ids, in the container.
_REGISTERS = """
import json, sys, urllib.request
def ask(path, body=None):
    request = urllib.request.Request("http://schema-registry:8081" + path, body and json.dumps(body).encode(),
                                     {"Content-Type": "application/vnd.schemaregistry.v1+json"})
    return json.load(urllib.request.urlopen(request))
for kind, text in {"AVRO": '"string"', "JSON": '{"type":"string"}', "PROTOBUF": 'syntax = "proto3"; message M { string a = 1; }'}.items():
    made = ask(f"/subjects/{kind}/versions", {"schemaType": kind, "schema": text})["id"]
    print(made, ask(f"/schemas/ids/{made}").get("schemaType", "AVRO"))
"""
_PORTS = re.compile(r"(127\.0\.0\.1:)?\d+:\d+")


def services(file: Path) -> dict[str, dict[str, Any]]:
    return yaml.safe_load(file.read_text())["services"]


def test_there_are_files() -> None:
    assert [file.stem for file in FILES] == ["broker", "connect", "schema-registry"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_they_say_is_in_the_specification_and_in_the_file(file: Path) -> None:
    whole = yaml.safe_load(file.read_text())
    assert whole.keys() <= {"services", "volumes"}
    volumes = (whole.get("volumes") or {}).keys()
    for service in whole["services"].values():
        assert service.keys() <= _SERVICE
        assert all(_PORTS.fullmatch(port) for port in service.get("ports", []))
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= volumes
        assert service.get("depends_on", {}).keys() <= whole["services"].keys()
        for value in service["environment"].values():
            assert isinstance(value, str | int), "compose takes no true and no false here"
    used = {volume.partition(":")[0] for service in whole["services"].values() for volume in service.get("volumes", [])}
    assert used == volumes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_broker_starts_and_is_what_the_others_look_for(file: Path, image: Image | RealImage) -> None:
    image.empty("/var/lib/pykbroker")
    broker = services(file)["kafka"]
    environment = {name: str(value) for name, value in broker["environment"].items()}
    with image.container(environment=environment, hosts=["kafka"]) as container:
        container.wait_for("^pykbroker ready")
        check = broker.get("healthcheck", {}).get(
            "test", ["CMD", "python", "-P", "-m", "pykbroker.container", "health"]
        )
        assert container.execute(*check[1:]).returncode == 0
        topics = container.execute("kafka-topics", "--bootstrap-server", "kafka:9092", "--create", "--topic", "t")
        assert (topics.returncode, topics.stdout) == (0, "Created topic t.\n"), topics.stderr
        container.stop(signal.SIGTERM)


def test_the_schema_registry_takes_each_type_by_the_name_that_others_ask(image: Image | RealImage) -> None:
    image.empty("/var/lib/pykbroker")
    (file,) = (each for each in FILES if each.stem == "schema-registry")
    broker = services(file)["kafka"]
    (name,) = broker["networks"]["default"]["aliases"]
    environment = {key: str(value) for key, value in broker["environment"].items()}
    with image.container(environment=environment, hosts=["kafka", name]) as container:
        container.wait_for("^pykbroker ready.*; schema registry at http://0.0.0.0:8081")
        asked = container.execute("python", "-P", "-c", _REGISTERS)
        assert (asked.returncode, asked.stdout) == (0, "1 AVRO\n2 JSON\n3 PROTOBUF\n"), asked.stderr
        container.stop(signal.SIGTERM)
