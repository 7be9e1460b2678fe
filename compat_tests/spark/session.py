"""The Spark session of these tests: small, local, with the connector's jars."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from compat_tests.harness import short_spark
from scripts.jars import jars

LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


def start_session(folder: Path) -> SparkSession:
    """A session on two threads whose working files lie in ``folder``. Raises JarsUnavailable without Maven."""
    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING)
    settings = {
        **short_spark.SETTINGS,
        "spark.jars": ",".join(map(str, jars("spark"))),
        "spark.driver.memory": "900m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{short_spark.JAVA} -Dlog4j2.configurationFile={logging.as_uri()}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        # A test that waits for data for longer than this has found a fault.
        "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
        "spark.sql.streaming.stopTimeout": "30s",
        "spark.sql.streaming.pollingDelay": "10ms",
    }
    builder = SparkSession.Builder().master("local[2]").appName("pykbroker compatibility")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(start_session(Path(scratch)).version)
