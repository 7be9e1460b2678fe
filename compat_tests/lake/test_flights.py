"""Real data through a lake: flights with their weather, as JSON and as Avro.

A thousand of them in each run; with PYKBROKER_LONG all 336,776, while job and broker are killed LAKE_KILLS times (3 unless set).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.conftest import LONG
from compat_tests.harness.process import BrokerProcess
from compat_tests.lake.flights import AVRO, JSON, SCHEMA, SCHEMA_NUMBER, Published, publish
from compat_tests.lake.killing import Killing
from compat_tests.lake.registry import serving
from compat_tests.lake.workshop import Workshop
from pykbroker.lake.description import Format
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.registry import SchemaRegistry
from pykbroker.lake.values.schema_survey import Surveyor

ALL = 336_776
COUNT = ALL if LONG else 1000
KILLS = int(os.environ.get("LAKE_KILLS", "3")) if LONG else 0
BATCH = 2 * COUNT // (8 * KILLS + 4)
"""Each kill comes after four batches have ended."""
BOTH = f"{JSON}|{AVRO}"


def decoded(workshop: Workshop, topic: str, kind: ValueFormat, surveyor: Surveyor) -> DataFrame:
    found = DecodedTopic(workshop.lake, topic)
    found.keep_options(DecodeOptions(kind, key=KeyFormat.TEXT))
    outcome = Decode(found, surveyor).run(lambda _: None)
    assert (outcome.decoded, outcome.quarantined) == (COUNT, 0)
    return found.read()


def seen(flights: DataFrame) -> Published:
    row = flights.agg(f.count("*"), f.count("dep_delay"), f.sum("dep_delay"), f.count("temp")).first()
    assert row is not None
    return Published(*row)


def test_flights_with_their_weather_come_through_whole(
    spark: SparkSession, start_target: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    """Archived, verified, replayed and archived again; JSON and Avro are decoded to the same columns, which equal the files."""
    broker = start_target()
    known = publish(broker.bootstrap, COUNT)
    assert known.flights == COUNT
    killing = Killing(broker, BOTH, tmp_path, BATCH, limit_s=600)
    for _ in range(KILLS):
        killing.kill()
    killing.sweep()
    workshop = Workshop(spark, broker.bootstrap, killing.lake, Format.PARQUET)
    assert workshop.archive(BOTH).entry.total_rows == 2 * COUNT
    report = workshop.verify()
    assert report.is_equal, report
    assert workshop.replayed_and_archived(start_target().bootstrap, tmp_path / "again").sums() == workshop.sums()
    with serving() as registry:
        registry.by_id[SCHEMA_NUMBER] = {"schema": json.dumps(SCHEMA)}
        of_avro = decoded(workshop, AVRO, ValueFormat.AVRO, Surveyor(SchemaRegistry(registry.url)))
    of_json = decoded(workshop, JSON, ValueFormat.JSON, Surveyor())
    assert seen(of_json) == seen(of_avro) == known
    values = [name for name in of_json.columns if name not in ("kafka_partition", "kafka_offset")]
    assert of_json.select(values).exceptAll(of_avro.select(values)).isEmpty()
