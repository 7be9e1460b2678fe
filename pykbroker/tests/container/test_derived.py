"""What follows from variables, as in Apache Kafka's image."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.derived import BadEnvironment, complete


@pytest.mark.parametrize(
    ("advertised", "listeners"),
    [
        ("PLAINTEXT://kafka:9092", "PLAINTEXT://0.0.0.0:9092"),
        ("IN://kafka:9092,OUT://localhost:29092", "IN://0.0.0.0:9092,OUT://0.0.0.0:29092"),
        ("PLAINTEXT://[fd00::1]:9092,B://b:1", "PLAINTEXT://0.0.0.0:9092,B://0.0.0.0:1"),
    ],
)
def test_it_listens_where_it_is_advertised(advertised: str, listeners: str) -> None:
    assert complete({"KAFKA_ADVERTISED_LISTENERS": advertised})["KAFKA_LISTENERS"] == listeners


def test_listeners_that_are_said_stay() -> None:
    given = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:1", "KAFKA_LISTENERS": "PLAINTEXT://:2"}
    assert complete(given) == given


def test_a_controller_advertises_nothing() -> None:
    with pytest.raises(BadEnvironment, match="KAFKA_ADVERTISED_LISTENERS is not supported on a KRaft controller"):
        complete({"KAFKA_PROCESS_ROLES": "controller", "KAFKA_ADVERTISED_LISTENERS": "A://b:1"})
    assert complete({"KAFKA_PROCESS_ROLES": "controller", "KAFKA_ADVERTISED_LISTENERS": ""}) == {
        "KAFKA_PROCESS_ROLES": "controller"
    }


STORES = {
    "KAFKA_ADVERTISED_LISTENERS": "SSL://kafka:9093",
    "KAFKA_SSL_KEYSTORE_FILENAME": "kafka.jks",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store",
    "KAFKA_SSL_KEY_CREDENTIALS": "key",
}


def secrets(folder: Path) -> Path:
    for name, text in (("kafka.jks", ""), ("store", "of the store\n"), ("key", "of the key"), ("trust.jks", "")):
        (folder / name).write_text(text)
    return folder


def test_stores_and_passwords_are_files(tmp_path: Path) -> None:
    made = complete(STORES, secrets(tmp_path))
    assert made["KAFKA_SSL_KEYSTORE_LOCATION"] == str(tmp_path / "kafka.jks")
    assert (made["KAFKA_SSL_KEYSTORE_PASSWORD"], made["KAFKA_SSL_KEY_PASSWORD"]) == ("of the store", "of the key")
    assert "KAFKA_SSL_TRUSTSTORE_LOCATION" not in made


def test_clients_certificates_need_a_store_of_those_that_are_trusted(tmp_path: Path) -> None:
    asks = {**STORES, "KAFKA_SSL_CLIENT_AUTH": "required"}
    with pytest.raises(BadEnvironment, match="KAFKA_SSL_TRUSTSTORE_FILENAME environment variable not set"):
        complete(asks, secrets(tmp_path))
    trusting = {**asks, "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.jks", "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "store"}
    made = complete(trusting, tmp_path)
    assert made["KAFKA_SSL_TRUSTSTORE_LOCATION"] == str(tmp_path / "trust.jks")
    assert made["KAFKA_SSL_TRUSTSTORE_PASSWORD"] == "of the store"


@pytest.mark.parametrize("variable", [name for name in STORES if name != "KAFKA_ADVERTISED_LISTENERS"])
def test_what_is_missing_is_named(variable: str, tmp_path: Path) -> None:
    secrets(tmp_path)
    with pytest.raises(BadEnvironment, match=f"{variable} environment variable not set"):
        complete({name: value for name, value in STORES.items() if name != variable}, tmp_path)
    with pytest.raises(BadEnvironment, match=r"nothing file does not exist"):
        complete({**STORES, variable: "nothing"}, tmp_path)


@pytest.mark.parametrize("otherwise", ["KAFKA_SSL_KEYSTORE_LOCATION", "KAFKA_LISTENER_NAME_SSL_SSL_KEYSTORE_KEY"])
def test_keys_that_are_said_otherwise_need_no_files(otherwise: str) -> None:
    given = {"KAFKA_ADVERTISED_LISTENERS": "SSL://kafka:9093", otherwise: "x"}
    assert complete(given) == {**given, "KAFKA_LISTENERS": "SSL://0.0.0.0:9093"}
