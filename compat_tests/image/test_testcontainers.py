"""The contract of Testcontainers' Kafka modules: with the script of each the container comes up, says what is waited for, tells
clients of each listener the address that the script names, and serves them.
"""

from __future__ import annotations

import socket

import pytest

from compat_tests.image.container import Container
from compat_tests.image.engine import Image
from compat_tests.image.modules import CLUSTER_ID, Module, modules, of_python
from compat_tests.image.real import RealImage

OTHERS = {module.name: module for module in modules()}
OF_PYTHON = {"Python": True, "Python, ZooKeeper": False}
#: Prints what clients of two ports are told, the cluster's id, and a record that is sent and read by way of what is told.
_CLIENT = """
import sys, time
from pykbroker.client.client import Client
from pykbroker.client.fetcher import Fetcher
from pykbroker.client.offsets import TopicPartition
from pykbroker.client.producer import Producer
from pykbroker.wire.records import Record
clients = [Client([("localhost", int(port))], timeout_s=300) for port in sys.argv[1:]]
for client in clients:
    answer = client.metadata([])
    (broker,) = answer.brokers
    print(f"{broker.host}:{broker.port}")
print(answer.cluster_id)
clients[0].topic("orders", create=True)
Producer(clients[0]).send(TopicPartition("orders", 0), [Record(timestamp=1, key=None, value=b"tea", headers=[])])
fetcher = Fetcher(clients[1])
fetcher.assign({TopicPartition("orders", 0): 0})
while not (found := fetcher.poll(1)):
    pass
print(found[0].records[0].value.decode())
"""
_WRITABLE = ["/var/lib/pykbroker", "/var/lib/kafka/data", "/tmp", "/etc/kafka/secrets"]


@pytest.fixture(autouse=True)
def fresh(image: Image | RealImage) -> None:
    """A container begins with the image's own files."""
    image.empty(*_WRITABLE)
    for name in ("configure", "ensure"):
        image.restore(f"/etc/confluent/docker/{name}")


def put(module: Module, container: Container) -> None:
    """The script, as ``docker cp`` puts it, or a command in the container."""
    if module.written_inside:
        done = container.execute("sh", "-c", f"cat > {module.path} && chmod 755 {module.path}", given=module.script)
        assert done.returncode == 0, done.stderr
        return
    container.write(module.path, module.script, 0o777)


@pytest.fixture
def module(request: pytest.FixtureRequest) -> Module:
    if request.param in OTHERS:
        return OTHERS[request.param]
    pytest.importorskip("testcontainers", reason="the package testcontainers is not installed")
    return of_python(kraft=OF_PYTHON[request.param])


@pytest.mark.parametrize("module", [*OTHERS, *OF_PYTHON], indirect=True)
def test_the_container_comes_up_and_serves(module: Module, image: Image | RealImage) -> None:
    with image.container(*module.words(), environment=module.environment, entry=module.entry) as container:
        if "Waiting for script" in " ".join(module.words()):
            container.wait_for("Waiting for script...")
        put(module, container)
        container.wait_for(module.awaited)
        inner = {9092: 9093, 9093: 9092}[module.port]
        done = container.execute("python", "-P", "-c", _CLIENT, str(module.port), str(inner))
        assert done.returncode == 0, done.stderr
        outside, inside, cluster, record = done.stdout.split()
        assert (outside, inside) == (f"localhost:{module.port}", f"{inner_host(module, container)}:{inner}")
        assert (cluster, record) == (module.environment.get("CLUSTER_ID", cluster), "tea")
    image.remove(module.path)


def inner_host(module: Module, container: Container) -> str:
    """Where other containers reach it: a script of Python asks for the address itself."""
    if "hostname -i" in module.script:
        return container.execute("hostname", "-i").stdout.strip()
    return socket.gethostname()


def test_users_of_a_format_are_there(image: Image | RealImage) -> None:
    """What Node's module formats, and the settings that it gives a listener with SASL."""
    module = OTHERS["Node, a user"]
    login = (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="app-user" password="userPassword";'
    )
    secured = {
        **module.environment,
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-256",
        "KAFKA_LISTENER_NAME_PLAINTEXT_SCRAM-SHA-256_SASL_JAAS_CONFIG": login,
    }
    with image.container(*module.words(), environment=secured, entry=module.entry) as container:
        put(module, container)
        container.wait_for(module.awaited)
        settings = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={login}\n"
        container.write("/tmp/client.properties", settings)
        asked = (
            "kafka-cluster",
            "cluster-id",
            "--bootstrap-server",
            "localhost:9093",
            "--command-config",
            "/tmp/client.properties",
        )
        assert container.execute(*asked).stdout == f"Cluster ID: {CLUSTER_ID}\n"
        container.write("/tmp/client.properties", settings.replace("userPassword", "wrong"))
        assert container.execute(*asked).returncode == 1
        healthy = container.execute("python", "-P", "-m", "pykbroker.container", "health")
        assert (healthy.returncode, healthy.stdout) == (0, '{"status": "ready"}\n')
    image.remove(module.path)
