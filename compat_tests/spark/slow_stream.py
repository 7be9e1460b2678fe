"""A driver of its own for the test that kills one: many small batches from a topic into Parquet.

Arguments: bootstrap servers, topic, folder.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from compat_tests.spark.kafka_source import KafkaSource, run
from compat_tests.spark.session import start_session


def main(bootstrap: str, topic: str, folder: str) -> None:
    spark = start_session(Path(tempfile.mkdtemp(dir=folder)))
    stream = KafkaSource(spark, bootstrap).stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    run(stream, Path(folder), processingTime="10 milliseconds").awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
