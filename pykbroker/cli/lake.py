"""``pykbroker lake``: topics to a lake of tables and back, on Spark, which is imported only when a command needs it."""

from __future__ import annotations

import typer

from pykbroker.cli import lake_archive, lake_decode, lake_profile, lake_replay, lake_verify

app = typer.Typer(
    help="Archive topics to Parquet, Delta Lake or Iceberg; decode, verify, profile, replay.", no_args_is_help=True
)
app.command("archive")(lake_archive.archive)
app.command("status")(lake_archive.status)
app.command("compact")(lake_archive.compact)
app.command("decode")(lake_decode.decode)
app.command("verify")(lake_verify.verify)
app.command("profile")(lake_profile.profile)
app.command("replay")(lake_replay.replay)
