"""What ``lake decode`` refuses before Spark is started, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.cli.app import main
from pykbroker.lake.description import FILE, Description, Format


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    return tmp_path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--as", "json", "--schema", "none.sql"], "There is no schema none.sql."),
        (["--as", "text", "--schema", __file__], "Text has no schema."),
        (["--as", "avro", "--schema", __file__], "This is no Avro schema: "),
        (
            ["--as", "protobuf", "--schema", __file__],
            "--message is needed: the message of the schema that the values are.",
        ),
        (["--as", "protobuf", "--schema", __file__, "--message", "M"], "This is no compiled Protobuf schema"),
        (["--schema", __file__], "--schema, --types and --message need --as; give it, too."),
    ],
)
def test_what_is_missing_is_said(lake: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "avro" in options:
        pytest.importorskip("fastavro")
    if "protobuf" in options:
        pytest.importorskip("google.protobuf")
    assert main(["lake", "decode", str(lake), *options]) != 0
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_is_no_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lake", "decode", str(tmp_path), "--as", "json"]) != 0
    assert "is no lake of ours" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decode", "verify", "profile", "replay"])
def test_a_pattern_that_is_none(lake: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lake", command, str(lake), "--topics", "*flights"]) == 2
    assert "--topics '*flights' is not a regular expression: nothing to repeat" in " ".join(
        capsys.readouterr().err.split()
    )
