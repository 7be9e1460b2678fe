"""Spark for jobs that are shorter than its own start."""

from __future__ import annotations

#: C1 only, with room for all that it compiles, since a full cache is swept and filled again and again; and the small collector.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
#: Nothing is compiled for a query: these are too short to repay the compiler.
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}


def environment(java: str = "") -> dict[str, str]:
    """The same for a program that says nothing of it, in its environment; ``java`` are more of Java's options."""
    given = [f"-D{name}={value}" for name, value in SETTINGS.items()]
    return {"SPARK_SUBMIT_OPTS": " ".join([JAVA, *given, java]).rstrip(), "SPARK_LAUNCHER_OPTS": JAVA}
