"""Files of a lake that are no tables, through Hadoop's file systems: on this machine, HDFS or an object store alike."""

from __future__ import annotations

import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


class Folder:
    """A folder by its URI. Names are relative to it, with ``/``."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark = spark
        jvm: Any = spark._jvm  # noqa: SLF001 - PySpark's only way to Hadoop's file systems
        self._jvm = jvm
        path = jvm.org.apache.hadoop.fs.Path(uri)
        configuration = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        self._files = path.getFileSystem(configuration)
        rename = jvm.org.apache.hadoop.fs.Options.Rename
        self._replacing = spark._sc._gateway.new_array(rename, 1)  # noqa: SLF001
        self._replacing[0] = rename.OVERWRITE
        self._keeping = spark._sc._gateway.new_array(rename, 0)  # noqa: SLF001
        self.uri = str(self._files.makeQualified(path).toString())

    def at(self, name: str) -> str:
        """The URI of what is called ``name`` here."""
        return f"{self.uri}/{name}"

    def within(self, name: str) -> Folder:
        """The folder ``name`` in this one."""
        return Folder(self._spark, self.at(name))

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""
        if not self.exists(name):
            return None
        stream = self._files.open(self._path(name))
        try:
            return bytes(self._jvm.org.apache.hadoop.io.IOUtils.readFullyToByteArray(stream)).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes a file whole or not at all; one of that name is replaced."""
        self._rename(self._unfinished(name, text), name, self._replacing)

    def create(self, name: str, text: str) -> bool:
        """The same where there is none of that name; else False, and nothing has changed."""
        unfinished = self._unfinished(name, text)
        try:
            self._rename(unfinished, name, self._keeping)
        except Py4JJavaError as error:
            self.delete(unfinished)
            if error.java_exception.getClass().getSimpleName() == "FileAlreadyExistsException":
                return False
            raise
        return True

    def _unfinished(self, name: str, text: str) -> str:
        unfinished = f"{name.rpartition('/')[0]}/.{uuid.uuid4().hex}".lstrip("/")
        try:
            stream = self._files.create(self._path(unfinished), True)
            try:
                stream.write(text.encode())
            finally:
                stream.close()
        except Py4JJavaError:
            self.delete(unfinished)
            raise
        return unfinished

    def _rename(self, name: str, to: str, how: Any) -> None:
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._path(to).toUri(), self._files.getConf()
        )
        context.rename(self._path(name), self._path(to), how)

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def names(self, name: str) -> list[str]:
        """What lies directly in the folder ``name``, hidden files left out; nothing where there is no such folder."""
        if not self.exists(name):
            return []
        found = (status.getPath().getName() for status in self._files.listStatus(self._path(name)))
        return sorted(each for each in found if not each.startswith("."))

    def files(self, name: str) -> dict[str, int]:
        """The files below the folder ``name``, relative to it, with their sizes; hidden ones left out."""
        found: dict[str, int] = {}
        if not self.exists(name):
            return found
        base = len(self.at(name)) + 1
        each = self._files.listFiles(self._path(name), True)
        while each.hasNext():
            status = each.next()
            relative = status.getPath().toString()[base:]
            if not relative.rpartition("/")[2].startswith((".", "_")):
                found[relative] = int(status.getLen())
        return found

    def move(self, name: str, to: str) -> bool:
        """Renames a file, making the folders above; False where it could not be, as when it has gone already."""
        self._files.mkdirs(self._path(to).getParent())
        return bool(self._files.rename(self._path(name), self._path(to)))

    def delete(self, name: str) -> None:
        """A file, or a folder with all that is in it; nothing happens where there is none."""
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.at(name))
