"""File connectors, as a test talks to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compat_tests.connect.worker import Refused, Worker
from compat_tests.harness.awaiting import eventually

#: In the trace of a task whose producer met it.
_EARLY_END = "InvalidTxnStateException"


@dataclass
class Connector:
    """One connector of a Connect group, asked through ``worker``; any worker will do."""

    worker: Worker
    name: str

    def create(self, kind: str, **config: str) -> None:
        """Makes the connector, ``kind`` being FileStreamSource or FileStreamSink, and waits until its task runs."""
        full = {"connector.class": kind, "tasks.max": "1", **config}
        self.worker.ask("PUT", f"/connectors/{self.name}/config", full)
        self.await_state("RUNNING")

    def delete(self) -> None:
        self.worker.ask("DELETE", f"/connectors/{self.name}")

    def pause(self) -> None:
        self._turn("pause", "PAUSED")

    def resume(self) -> None:
        self._turn("resume", "RUNNING")

    def stop(self) -> None:
        """Tasks end and are forgotten; offsets may be changed."""
        self._turn("stop", "STOPPED")

    def _turn(self, verb: str, state: str) -> None:
        self.worker.ask("PUT", f"/connectors/{self.name}/{verb}")
        self.await_state(state)

    def status(self) -> dict[str, Any]:
        """The status; empty where it is not known yet."""
        try:
            return self.worker.ask("GET", f"/connectors/{self.name}/status")
        except Refused as refused:
            if refused.args[0] == 404:
                return {}
            raise

    def await_state(self, state: str) -> None:
        """Waits until the connector and its one task are in ``state``; a stopped connector has no task."""
        tasks = 0 if state == "STOPPED" else 1

        def reached(status: dict[str, Any]) -> bool:
            if not status:
                return False
            found = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
            return found == [state] * (1 + tasks)

        eventually(self.status, reached)

    def restart_early_end(self) -> None:
        """Restarts the task, as Connect leaves it to a person, if its producer has ended a transaction too early.

        Now and then the Java client 4.3.1 asks for the end before it has sent the first batch: Sender looks whether batches
        are left, and takes the next request after that; between the two the application may have sent and committed. With
        transaction version 2 the coordinator knows of no transaction then and answers INVALID_TXN_STATE, which is fatal.
        """
        tasks = self.status().get("tasks", [])
        if any(task["state"] == "FAILED" and _EARLY_END in task["trace"] for task in tasks):
            self.worker.ask("POST", f"/connectors/{self.name}/restart?includeTasks=true&onlyFailed=true")

    def task_worker(self) -> str:
        """The id of the worker that runs the task."""
        return self.status()["tasks"][0]["worker_id"]

    def offsets(self) -> list[dict[str, Any]]:
        return self.worker.ask("GET", f"/connectors/{self.name}/offsets")["offsets"]

    def set_offsets(self, *offsets: dict[str, Any]) -> str:
        """Alters the offsets of a stopped connector; what Connect says of it."""
        return self.worker.ask("PATCH", f"/connectors/{self.name}/offsets", {"offsets": list(offsets)})["message"]

    def reset_offsets(self) -> str:
        """Forgets all offsets of a stopped connector; what Connect says of it."""
        return self.worker.ask("DELETE", f"/connectors/{self.name}/offsets")["message"]
