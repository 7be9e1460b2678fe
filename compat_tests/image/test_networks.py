"""``docker run -p 9092:9092``: clients of the host and of other containers use the broker at once, with no address advertised."""

from __future__ import annotations

import sys

from compat_tests.image.engine import Image
from compat_tests.image.networks import ADDRESS, Networks

#: Prints which address it is told, sends a record and reads what there is, as a member of a group.
_CLIENT = """
import sys
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
at, topic, count = {"bootstrap.servers": sys.argv[1]}, sys.argv[2], int(sys.argv[3])
(broker,) = AdminClient(at).list_topics(timeout=300).brokers.values()
producer = Producer(at)
producer.produce(topic, sys.argv[1])
assert producer.flush(300) == 0
consumer = Consumer({**at, "group.id": sys.argv[1], "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
found = [consumer.poll(300).value().decode() for _ in range(count)]
consumer.close()
print(f"{broker.host}:{broker.port}", *found)
"""


def test_each_client_is_told_an_address_that_it_reaches(namespaced: Image, networks: Networks) -> None:
    namespaced.empty("/var/lib/pykbroker")
    with (
        namespaced.container(network=networks.enter(networks.broker)) as container,
        networks.mapped(9092),
    ):
        container.wait_for("^pykbroker ready")
        answers = {}
        for count, (name, bootstrap) in enumerate(
            (
                (networks.host, "localhost:9092"),
                (networks.other, f"{ADDRESS}:9092"),
                (networks.broker, "127.0.0.1:9092"),
            ),
            1,
        ):
            done = networks.run(name, [sys.executable, "-c", _CLIENT, bootstrap, "orders", str(count)])
            assert done.returncode == 0, done.stderr
            told, *read = done.stdout.split()
            answers[bootstrap] = told
            assert len(read) == count
        assert answers == {address: address for address in answers}
