"""The JAAS file of KAFKA_OPTS, as in Apache Kafka's own compose files with SASL."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.container import jaas_file
from pykbroker.container.derived import BadEnvironment
from pykbroker.security.jaas import parse_jaas

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
FILE = f"""\
// Of a broker. {{ Not an entry. }};
KafkaServer {{
    {_PLAIN} required
    username="admin"
    password="admin \\"secret\\""
    user_admin="admin-secret";
    {_SCRAM} required;
}};
inside.KafkaServer {{ {_PLAIN} required user_bob='b{{}};'; }};
KafkaClient {{ {_PLAIN} required username="admin"; }};
"""
GIVEN = {
    "listeners": "CONTROLLER://:29093,SASL_HOST://:9094,INSIDE://:19094",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_HOST:SASL_PLAINTEXT,INSIDE:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "jaas.conf").write_text(FILE)
    return {"KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={tmp_path}/jaas.conf -Dx=y"}


def test_each_listener_has_its_entry_or_that_of_all(environment: dict[str, str]) -> None:
    added = jaas_file.settings(environment, GIVEN)
    names = [f"listener.name.{each}.plain.sasl.jaas.config" for each in ("sasl_host", "inside")]
    assert list(added) == names
    assert parse_jaas(added[names[0]]) == (
        _PLAIN,
        {"username": "admin", "password": 'admin "secret"', "user_admin": "admin-secret"},
    )
    assert parse_jaas(added[names[1]]) == (_PLAIN, {"user_bob": "b{};"})


def test_mechanisms_have_modules_of_their_own(environment: dict[str, str]) -> None:
    own = {"listener.name.sasl_host.sasl.enabled.mechanisms": "SCRAM-SHA-512, GSSAPI"}
    added = jaas_file.settings(environment, {**GIVEN, **own})
    assert added["listener.name.sasl_host.scram-sha-512.sasl.jaas.config"] == f"{_SCRAM} required;"
    assert (
        "listener.name.sasl_host.gssapi.sasl.jaas.config" not in added
    )  # the entry has none: the start says what is missing


def test_a_setting_wins(environment: dict[str, str]) -> None:
    given = {**GIVEN, "listener.name.sasl_host.plain.sasl.jaas.config": f'{_PLAIN} required user_x="y";'}
    assert list(jaas_file.settings(environment, given)) == ["listener.name.inside.plain.sasl.jaas.config"]


def test_a_broker_takes_them(environment: dict[str, str]) -> None:
    given = {
        **GIVEN,
        "inter.broker.listener.name": "INSIDE",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "controller.listener.names": "CONTROLLER",
    }
    config = BrokerConfig(given | jaas_file.settings(environment, given))
    assert config.is_explicit("listener.name.inside.plain.sasl.jaas.config")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("KafkaServer { x required }", "entries of the form"),
        ("KafkaServer { x required; }", "entries of the form"),
        ("x required;", "entries of the form"),
        ("KafkaServer { x; };", "control flag"),
        ("KafkaServer {", "entries of the form"),
        ("KafkaServer { x required a='", "unterminated"),
    ],
)
def test_a_file_that_is_none_is_named(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    if content is not None:
        path.write_text(content)
    environment = {"KAFKA_OPTS": f"-Djava.security.auth.login.config={path}"}
    with pytest.raises(BadEnvironment, match=said):
        jaas_file.settings(environment, GIVEN)
    assert jaas_file.settings(environment, {"listeners": "PLAINTEXT://:9092"}) == {}


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ("", None),
        ("-Xmx1g", None),
        ("-Djava.security.auth.login.config=/a -Djava.security.auth.login.config==/b", "/b"),
        ("'-Djava.security.auth.login.config=/with blank'", "/with blank"),
        ('-Djava.security.auth.login.config=/a "', "/a"),
    ],
)
def test_the_option_of_a_jvm(options: str, path: str | None) -> None:
    assert jaas_file.named({"KAFKA_OPTS": options}) == (None if path is None else Path(path))
