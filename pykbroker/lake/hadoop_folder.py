"""The files of a lake beside its tables, by Hadoop's file systems: on this machine, on HDFS or in an object store."""

from __future__ import annotations

import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pykbroker.lake.errors import LakeError

_TORN = ("ChecksumException", "EOFException")


class Folder:
    """A folder, by its URI. Names are relative to it, with ``/``. Methods raise Py4JJavaError if the file system fails."""

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
        """The URI of ``name``."""
        return f"{self.uri}/{name}"

    def within(self, name: str) -> Folder:
        """The folder ``name`` in this one."""
        return Folder(self._spark, self.at(name))

    def read(self, name: str) -> str | None:
        """The text of a file; None if it does not exist. Raises LakeError if it is not UTF-8, or does not fit the checksum beside it."""
        if not self.exists(name):
            return None
        stream = self._files.open(self._path(name))
        try:
            return bytes(self._jvm.org.apache.hadoop.io.IOUtils.readFullyToByteArray(stream)).decode()
        except UnicodeDecodeError:
            raise LakeError(f"{self.at(name)} is not text in UTF-8: it is damaged.") from None
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() not in _TORN:
                raise
            raise LakeError(f"{self.at(name)} is not what its checksum tells: it is damaged.") from None
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file atomically, in place of one with this name."""
        self._rename(self._unfinished(name, text), name, self._replacing)

    def create(self, name: str, text: str) -> bool:
        """Write a file atomically; False, and no change, if one with this name exists."""
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

    def _rename(self, name: str, to: str, description: Any) -> None:
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(
            self._path(to).toUri(), self._files.getConf()
        )
        context.rename(self._path(name), self._path(to), description)

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._path(name)))

    def names(self, name: str) -> list[str]:
        """The sorted names in the folder ``name`` without hidden ones; empty if it does not exist."""
        if not self.exists(name):
            return []
        found = (status.getPath().getName() for status in self._files.listStatus(self._path(name)))
        return sorted(each for each in found if not each.startswith("."))

    def files(self, name: str) -> dict[str, int]:
        """The files below the folder ``name``, relative to it, and their sizes in bytes; without hidden ones."""
        found: dict[str, int] = {}
        if not self.exists(name):
            return found
        base = len(self.at(name).rstrip("/")) + 1
        each = self._files.listFiles(self._path(name), True)
        while each.hasNext():
            status = each.next()
            relative = status.getPath().toString()[base:]
            if not relative.rpartition("/")[2].startswith((".", "_")):
                found[relative] = int(status.getLen())
        return found

    def move(self, name: str, to: str) -> bool:
        """Rename a file, and create the folders above it; False if this fails, for instance because it was moved before."""
        self._files.mkdirs(self._path(to).getParent())
        return bool(self._files.rename(self._path(name), self._path(to)))

    def delete(self, name: str) -> None:
        """Delete a file, or a folder with its content, if it exists."""
        self._files.delete(self._path(name), True)

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.at(name))
