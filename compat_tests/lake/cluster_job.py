"""The program of test_cluster: ``BOOTSTRAP FRESH FRESH FRESH FOLDER``. It prints a line with the results of each table format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from compat_tests.lake.conftest import SMALL
from compat_tests.lake.workshop import Workshop
from pykbroker.lake.description import Format
from pykbroker.lake.profile.aggregation import ProfileOptions, measured
from pykbroker.lake.spark_session import SparkOptions, start_session
from pykbroker.lake.values.decode import Decode
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.schema_survey import Surveyor
from scripts.jars import jars

MASTER = "local-cluster[2,1,1024]"


def main(bootstrap: str, fresh: list[str], folder: Path) -> None:
    options = SparkOptions(MASTER, SMALL, tuple(map(str, jars("spark") + jars("lake"))))
    spark = start_session(options, tuple(Format), folder)
    try:
        for form, other in zip(Format, fresh, strict=True):
            print(json.dumps({"form": form, **came_through(spark, bootstrap, other, folder, form)}), flush=True)
    finally:
        spark.stop()


def came_through(spark: SparkSession, bootstrap: str, fresh: str, folder: Path, form: Format) -> dict[str, object]:
    workshop = Workshop(spark, bootstrap, folder / f"lake-{form}", form)
    rows = workshop.archive("flights").rows
    decoded = DecodedTopic(workshop.lake, "flights")
    decoded.keep_options(DecodeOptions(ValueFormat.JSON))
    outcome = Decode(decoded, Surveyor()).run(lambda _: None)
    again = workshop.replayed_and_archived(fresh, folder / f"again-{form}")
    (facts,) = measured(workshop.lake, ProfileOptions())
    return {
        "rows": rows, "equal": workshop.verify().is_equal and again.verify().is_equal, "decoded": outcome.decoded,
        "again": again.sums() == workshop.sums(), "profiled": facts.records,
    }  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:-1], Path(sys.argv[-1]))
