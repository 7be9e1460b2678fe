"""Spark's source and sink over SASL_SSL, with the options that ``pykbroker serve --security`` prints."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from compat_tests.harness.pasted import served


def test_a_batch_is_written_and_a_stream_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    with served(tmp_path, "sasl_ssl") as pasted:
        admin = AdminClient(pasted.librdkafka)  # which ends what it does when nobody has it any more
        admin.create_topics([NewTopic("numbers", 2)])["numbers"].result(60)
        frame = spark.range(100).selectExpr("CAST(id AS STRING) AS value")
        pasted.spark(frame.write.format("kafka")).option("topic", "numbers").save()
        stream = pasted.spark(spark.readStream.format("kafka")).option("subscribe", "numbers")
        rows = stream.option("startingOffsets", "earliest").load().selectExpr("CAST(value AS STRING) AS value")
        query = (
            rows.writeStream.format("memory")
            .queryName("secured")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert sorted(int(row.value) for row in spark.table("secured").collect()) == list(range(100))
