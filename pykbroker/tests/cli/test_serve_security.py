"""``serve --security``: which listeners it is about, and what it leaves alone. Clients: compat_tests/security/test_pasted.py."""

from __future__ import annotations

import json
import os
import pty
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509

from pykbroker.cli.check import main as check
from pykbroker.cli.serve_options import configuration, parser
from pykbroker.cli.serve_security import ServedSecurity, folder_of
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.storage.properties import load
from pykbroker.tests.cli.test_serve import refused, serving


def made(folder: Path, *arguments: str) -> BrokerConfig:
    options = parser().parse_args(["--data-dir", str(folder / "data"), *arguments])
    config = configuration(options)
    return ServedSecurity(options, config, folder_of(options, config)).configured(config)


def test_addresses_without_a_name_are_secured_and_others_are_what_they_say(tmp_path: Path) -> None:
    config = made(
        tmp_path,
        *("--security", "sasl_ssl", "--listen", "127.0.0.1:1", "--listen", "PLAINTEXT://127.0.0.1:2"),
        *("--listen", "127.0.0.1:3"),
    )
    assert [(each.name, each.security_protocol, each.port) for each in config.listeners] == [
        ("SASL_SSL", "SASL_SSL", 1),
        ("PLAINTEXT", "PLAINTEXT", 2),
        ("SASL_SSL2", "SASL_SSL", 3),
    ]
    assert config["inter.broker.listener.name"] == "SASL_SSL"
    assert 'user_bob="' in config.explicit["listener.name.sasl_ssl2.plain.sasl.jaas.config"]
    assert config["sasl.enabled.mechanisms"] == ("GSSAPI",), "of all listeners, which are not ours"


def test_without_an_address_it_is_on_the_usual_one(tmp_path: Path) -> None:
    config = made(tmp_path, "--security", "ssl")
    assert config["listeners"] == ("SSL://127.0.0.1:9092",)
    assert config.explicit["ssl.client.auth"] == "requested"


@pytest.mark.parametrize("of_somebodys_own", [False, True])
def test_the_brokers_certificates_are_made_anew_well_before_they_expire(tmp_path: Path, of_somebodys_own: bool) -> None:
    now = [1_800_000_000_000]
    arguments = ["--security", "ssl", "--data-dir", str(tmp_path / "data"), "--listen", "a:1", "--listen", "b:2"]
    if of_somebodys_own:
        arguments += ["--set", "listener.name.ssl2.ssl.keystore.type=PEM"]
    options = parser().parse_args(arguments)
    config = configuration(options)
    security = ServedSecurity(options, config, folder_of(options, config), lambda: now[0])
    security.configured(config)
    renewed = []
    for _ in range(365):
        now[0] += 86_400_000
        renewed.append(security.renewed())
    (made,) = filter(None, renewed)
    assert 200 < renewed.index(made) < 300
    chain = {name: value for name, value in made.items() if name.endswith(".certificate.chain")}
    assert {name.split(".")[2] for name in chain} == ({"ssl"} if of_somebodys_own else {"ssl", "ssl2"})
    ends = x509.load_pem_x509_certificates(next(iter(chain.values())).encode())[0].not_valid_after_utc
    assert ends.timestamp() * 1000 > now[0] + 200 * 86_400_000


def test_what_somebody_sets_himself_stays(tmp_path: Path) -> None:
    config = made(
        tmp_path,
        *("--security", "ssl", "--set", "listener.name.ssl.ssl.client.auth=required"),
        *("--set", "security.inter.broker.protocol=SSL"),
    )
    assert config.explicit["listener.name.ssl.ssl.client.auth"] == "required"
    assert config["inter.broker.listener.name"] is None


def test_certificates_are_for_the_names_by_which_it_is_reached(tmp_path: Path) -> None:
    config = made(
        tmp_path,
        *("--security", "ssl", "--listen", "0.0.0.0:0", "--listen", "10.1.2.3:0"),
        *("--advertise", "kafka.example:9092", "--advertise", "10.1.2.3:9093"),
    )
    pem = config.explicit["listener.name.ssl.ssl.keystore.certificate.chain"].encode()
    names = (
        x509.load_pem_x509_certificates(pem)[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    )
    assert {"localhost", "kafka.example", socket.gethostname()} <= set(names.get_values_for_type(x509.DNSName))
    assert {"127.0.0.1", "10.1.2.3"} <= {str(each) for each in names.get_values_for_type(x509.IPAddress)}


def test_programs_are_told_where_everything_is(tmp_path: Path) -> None:
    where = ("--security-dir", str(tmp_path / "kept"), "--user", "carol")
    with serving("--ephemeral", "--json", "--listen", "127.0.0.1:0", "--security", "sasl_plaintext", *where) as (
        _,
        line,
    ):
        assert json.loads(line)["security"] == {
            "protocol": "SASL_PLAINTEXT",
            "folder": str(tmp_path / "kept"),
            "users": {"carol": str(tmp_path / "kept/clients/carol.properties")},
        }
        assert "password" not in line


@pytest.mark.parametrize("is_terminal", [True, False])
def test_passwords_are_printed_to_a_terminal_only(tmp_path: Path, is_terminal: bool) -> None:
    """Other output is a log's: of systemd, a container, a CI."""
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    command = [
        sys.executable,
        "-m",
        "pykbroker",
        "serve",
        "--data-dir",
        str(tmp_path / "data"),
        "--listen",
        "127.0.0.1:0",
    ]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen([*command, "--security", "sasl_ssl"], stdout=theirs, stderr=log) as process,
    ):
        os.close(theirs)
        printed = b""
        while b"bob.properties" not in printed:  # the last word
            printed += os.read(ours, 65536)
        process.kill()
    os.close(ours)
    users = load(tmp_path / "data-security/users.properties")
    assert (users["alice"].encode() in printed) == is_terminal
    assert users["alice"] in (tmp_path / "data-security/clients/alice.txt").read_text()
    assert str(tmp_path / "data-security/clients/alice.properties").encode() in printed
    assert users["alice"] not in (tmp_path / "log").read_text()


@pytest.mark.deep
def test_a_log_directory_that_is_restored_alone_gets_no_new_authority(tmp_path: Path) -> None:
    where = ("--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", "--security", "sasl_ssl")
    kept = tmp_path / "data-security"
    for _ in range(2):
        with serving(*where, "--json"):
            pass
    saved = {path: path.read_bytes() for path in kept.iterdir() if path.is_file()}
    shutil.copytree(tmp_path / "data", tmp_path / "restored", ignore=shutil.ignore_patterns("control.sock"))
    elsewhere = ("--data-dir", str(tmp_path / "restored"), *where[2:])
    status, err = refused(*elsewhere)
    assert status == 2
    assert f"{tmp_path}/restored was served with the keys and passwords in {kept}, but" in err
    assert "--new-security" in err
    assert not (tmp_path / "restored-security").exists()
    with serving(*elsewhere, "--security-dir", str(kept), "--json") as (_, line):
        assert json.loads(line)["security"]["folder"] == str(kept)
    assert {path: path.read_bytes() for path in saved} == saved
    (kept / "users.properties").unlink()
    status, err = refused(*where)
    assert "has no users.properties: with new ones" in err
    with serving(*elsewhere, "--new-security", "--json") as (_, line):
        assert json.loads(line)["security"]["folder"] == str(tmp_path / "restored-security")
    with serving(*elsewhere, "--json"):
        pass


def test_no_credential_is_readable_by_others_whatever_the_umask(tmp_path: Path) -> None:
    """The metadata log holds SCRAM's credentials, and passwords in altered settings."""
    data = tmp_path / "data"
    mask = os.umask(0)
    try:
        with serving("--data-dir", str(data), "--listen", "127.0.0.1:0", "--security", "sasl_plaintext"):
            pass
    finally:
        os.umask(mask)
    secret = [data / "__cluster_metadata-0", tmp_path / "data-security", *(tmp_path / "data-security").rglob("*")]
    assert len(secret) > 5
    assert {path: oct(path.stat().st_mode) for path in secret if path.stat().st_mode & 0o077} == {}


@pytest.mark.deep(but=2)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--new-security",), "say which, as --security sasl_ssl"),
        (("--user", "carol"), "say which, as --security sasl_ssl"),
        (("--security-dir", "x"), "say which, as --security sasl_ssl"),
        (
            ("--security", "sasl_ssl", "--listen", "PLAINTEXT://127.0.0.1:0"),
            "makes listeners of SASL_SSL ready, and there is none",
        ),
        (("--security", "ssl", "--user", "a b"), "--user a b is not a valid name"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    status, err = refused("--data-dir", str(tmp_path / "data"), *arguments)
    assert (status, said in err) == (2, True), err


def test_check_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(["--security", "sasl_ssl", "--data-dir", str(tmp_path / "data")]) == 0
    assert "settings are good: SASL_SSL://127.0.0.1:9092" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        ["listeners=SSL://127.0.0.1:1"],
        ["listeners=PLAINTEXT://:1,IN://:2", "listener.security.protocol.map=IN:SASL_SSL,PLAINTEXT:PLAINTEXT"],
    ],
)
def test_an_address_does_not_lay_secured_listeners_open_without_a_word(tmp_path: Path, settings: list[str]) -> None:
    given = [word for setting in settings for word in ("--set", setting)]
    name = "SSL" if len(settings) == 1 else "IN"
    with pytest.raises(
        ConfigError, match=rf"without security: write --listen {name}://127\.0\.0\.1:0, or PLAINTEXT://"
    ):
        made(tmp_path, *given, "--listen", "127.0.0.1:0")
    for meant in (f"{name}://127.0.0.1:0", "PLAINTEXT://127.0.0.1:0"):
        options = parser().parse_args([*given, "--listen", meant])
        assert configuration(options)["listeners"] == (meant,)


def test_an_address_takes_the_place_of_plain_listeners(tmp_path: Path) -> None:
    options = parser().parse_args(
        ["--set", "listeners=PLAINTEXT://:1,CONTROLLER://:2", "--data-dir", str(tmp_path), "--listen", "127.0.0.1:0"]
    )
    assert configuration(options)["listeners"] == ("PLAINTEXT://127.0.0.1:0",)
