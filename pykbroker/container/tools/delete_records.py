"""``kafka-delete-records``: deletes records before offsets in a JSON file."""

from __future__ import annotations

from functools import partial

from pykbroker.client.client import Client
from pykbroker.client.delete_records import delete_before
from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.exceptions import exception
from pykbroker.container.tools.json_plans import check_distinct, entries, number, partition_of
from pykbroker.container.tools.printing import print_cells, print_lines
from pykbroker.container.tools.running import Options, ToolError, connect
from pykbroker.wire.errors import ErrorCode, KafkaError


def main(words: list[str]) -> None:
    made = Options("kafka-delete-records", "Delete the records before an offset.")
    made.connecting(also=())
    made.add_argument("--offset-json-file", metavar="FILE",
                      help='{"partitions": [{"topic": "t", "partition": 0, "offset": 5}], "version": 1}')  # fmt: skip
    options = made.parse_args(words)
    if not options.offset_json_file:
        raise ToolError("Missing required argument --offset-json-file.")
    found = [(partition_of(entry), number(entry, "offset")) for entry in entries(options.offset_json_file)]
    check_distinct([partition for partition, _ in found], "Offset json file contains duplicate topic partitions")
    with connect(options) as client:
        print_lines("Executing records delete operation")
        answers = [(partition, _delete(client, partition, offset)) for partition, offset in found]
        print_lines("Records delete operation completed:")
        for partition, answer in answers:
            print_cells(f"partition: {partition}", answer)


def _delete(client: Client, partition: TopicPartition, offset: int) -> str:
    try:
        low = client.retrying(
            partial(delete_before, client, partition, offset), final=(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)
        )
    except KafkaError as error:
        return f"error: {exception(error.code, error.message)}"
    return f"low_watermark: {low}"
