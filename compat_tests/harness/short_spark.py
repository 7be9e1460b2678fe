"""Spark for jobs that are shorter than its own start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

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


@contextmanager
def names_remembered() -> Iterator[None]:
    """PySpark asks Java for a class by the names of its packages, one after the other and each time anew, and Java looks for each in three
    hundred jars: a quarter of the processor time of short jobs. Here each view of a JVM remembers its packages and classes.
    """
    from py4j.java_gateway import JavaPackage, JVMView

    with pytest.MonkeyPatch.context() as patched:
        for kind in (JavaPackage, JVMView):
            patched.setattr(kind, "__getattr__", _remembering(kind.__getattr__))
        yield


def _remembering(look: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    from py4j.java_gateway import JavaClass, JavaPackage

    def remembered(view: Any, name: str) -> Any:
        found = look(view, name)
        if isinstance(found, JavaPackage | JavaClass):
            vars(view)[name] = found
        return found

    return remembered
