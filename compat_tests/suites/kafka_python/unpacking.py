"""kafka-python's source distribution, made ready to run its integration tests against a broker that runs already."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

from compat_tests.harness.client_suites import UNPACKED

_CONFIGURATION = "[pytest]\n"

#: The tests import ``test.service``, which the distribution leaves out. It is about processes; ours runs already.
_SERVICE = '''
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def stop(self):
        """Whoever started the broker stops it."""

    dump_logs = stop


class SpawnedService:
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("these tests run against a broker that is there")
'''

#: A plug-in for the suite's pytest: where it would start a broker of its own, by scripts that are left out as well, it
#: gets the one that runs, by the listener that it wants.
_PLUGIN = """
import faulthandler
import json
import os
import sys

from kafka import KafkaAdminClient
from test.integration.fixtures import KafkaFixture, client_params

PORTS = json.loads(os.environ["RUNNING_BROKER"])


def running(cls, broker_id, transport="PLAINTEXT", sasl_mechanism=None, **others):
    broker = cls("127.0.0.1", PORTS[transport], broker_id, transport=transport, sasl_mechanism=sasl_mechanism,
                 partitions=4, external=True)
    broker.ssl_dir = os.environ["RUNNING_BROKER_CERTIFICATES"]
    return broker


def topic_names(broker):
    with KafkaAdminClient(**client_params(broker)) as admin:
        return admin.list_topics()


KafkaFixture.instance = classmethod(running)
KafkaFixture.start = lambda broker: None
KafkaFixture.get_topic_names = topic_names


def pytest_unconfigure():
    # a client's thread that does not end keeps the interpreter: it tells where that thread is, and ends
    faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)
"""


def unpacked() -> Path:
    """The folder of the distribution, in the version that is installed; downloaded where it is not there yet.

    pytest runs there with ``-c suite.ini -p running_broker`` and the folder on its path.
    """
    release = version("kafka-python")
    folder = UNPACKED / f"kafka_python-{release}"
    if not (folder / "suite.ini").exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with tarfile.open(_download(release)) as archive:
            archive.extractall(UNPACKED, filter="data")
        (folder / "test" / "__init__.py").touch()  # without it, the standard library's package `test` is found first
        (folder / "suite.ini").write_text(_CONFIGURATION)
    (folder / "test" / "service.py").write_text(_SERVICE)
    (folder / "running_broker.py").write_text(_PLUGIN)
    return folder


def _download(release: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(UNPACKED), f"kafka-python=={release}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"pip could not download the source distribution of kafka-python:\n{done.stderr}")
    return UNPACKED / f"kafka_python-{release}.tar.gz"
