from __future__ import annotations

import pytest

from pykbroker.cli.lake_options import lake_errors
from pykbroker.client.errors import ClientError
from pykbroker.lake.errors import is_java_gone, sentence

OF_A_TASK = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: org.apache.spark.api.python.PythonException: Traceback
  File "sender.py", line 89, in send
    raise LakeError(
pykbroker.lake.errors.LakeError: flights-0, offset 7 has the timestamp 0, for which librdkafka would put its own.

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:581)
Caused by: java.lang.RuntimeException: of less use
"""
OF_JAVA = """org.apache.spark.SparkException: Job aborted.
Caused by: org.apache.spark.SparkException: Task failed while writing rows.
\tat org.apache.spark.sql.Dataset.collect(Dataset.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
"""

OF_A_FILE = """org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///lake/batch-0.c000.parquet.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:856)
Caused by: java.io.IOException: could not verify page integrity, CRC checksum verification failed
"""
OF_ICEBERG = """org.apache.spark.SparkException: Job aborted.
Caused by: java.io.IOException: could not verify page integrity, CRC checksum verification failed
Error reading file(s): file:/lake/records/00000.parquet
"""
OF_A_CALL = """An error occurred while calling o288.start.
: java.io.IOException: Failed to create a temp directory (under artifacts) after 10 attempts!
\tat org.apache.spark.network.util.JavaUtils.createDirectory(JavaUtils.java:411)
"""
DAMAGED = "The file is damaged or gone: put back a copy of it, and run this again; nothing was changed."
FULL = "Make room on the lake's disk, or where TMPDIR is, and run this again; what was committed stays."
PAGE = "could not verify page integrity, CRC checksum verification failed"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (OF_A_TASK, "flights-0, offset 7 has the timestamp 0, for which librdkafka would put its own."),
        (OF_JAVA, f"No space left on device. {FULL}"),
        (OF_A_FILE, f"file:///lake/batch-0.c000.parquet: {PAGE}. {DAMAGED}"),
        (OF_ICEBERG, f"file:/lake/records/00000.parquet: {PAGE}. {DAMAGED}"),
        (
            OF_A_FILE.replace("/lake/", "/lake/decoded/flights/records/"),
            (
                f"file:///lake/decoded/flights/records/batch-0.c000.parquet: {PAGE}. The file is damaged or gone: "
                "`pykbroker lake decode LAKE --topics 'flights' --anew` makes the tables of this topic anew from the archive; nothing was changed."
            ),
        ),
        (OF_A_CALL, "Failed to create a temp directory (under artifacts) after 10 attempts!"),
        ("\nThere is no table.\nMore of it", "There is no table."),
        ("", ""),
    ],
)
def test_of_what_spark_says_the_part_that_a_person_reads(message: str, said: str) -> None:
    assert sentence(message) == said


def test_a_command_ends_with_it_and_bugs_are_no_part_of_that() -> None:
    errors = pytest.importorskip("pyspark.errors")
    with pytest.raises(ClientError, match=r"^Spark failed: flights-0, offset 7 has"), lake_errors():
        raise errors.PySparkException(OF_A_TASK)
    with pytest.raises(ZeroDivisionError), lake_errors():
        raise ZeroDivisionError


def test_java_that_has_ended_is_known_by_any_error_on_the_way() -> None:
    gone = ConnectionRefusedError("Connection refused")
    other = RuntimeError("Error while sending or receiving")
    try:
        try:
            raise gone
        except ConnectionRefusedError:
            raise ValueError("nothing was answered") from None
    except ValueError as error:
        wrapped = error
    assert all(map(is_java_gone, (gone, other, wrapped)))
    assert not is_java_gone(ValueError("Connection to the registry"))
