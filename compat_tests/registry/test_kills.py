"""A registry whose process is killed while clients register: what was answered is there, with its id, and no id is of two schemas."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

ROUNDS = int(os.environ.get("REGISTRY_KILLS", "3"))
KIND = "application/vnd.schemaregistry.v1+json"


def ask(url: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": KIND})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def serve(folder: Path) -> tuple[subprocess.Popen[str], str]:
    command = [
        sys.executable,
        "-m",
        "pykbroker",
        "serve",
        "--data-dir",
        str(folder),
        "--listen",
        "127.0.0.1:0",
        "--json",
    ]
    process = subprocess.Popen(
        [*command, "--schema-registry", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    return process, f"http://{json.loads(process.stdout.readline())['schema_registry']}"


def register(
    url: str, client: int, number: int, answered: dict[tuple[str, int], int], begun: threading.Semaphore
) -> None:
    while True:
        text = json.dumps({"type": "fixed", "name": f"F{client}_{number}", "size": 4})
        try:
            found = ask(url, f"/subjects/s{client}/versions", {"schema": text})
        except (OSError, HTTPException, ValueError):
            return
        answered[f"s{client}", found["version"]] = found["id"]
        begun.release()
        number += 1


def test_answers_outlive_kills(tmp_path: Path) -> None:
    answered: dict[tuple[str, int], int] = {}
    for round_ in range(ROUNDS):
        process, url = serve(tmp_path / "data")
        check(url, answered)
        if not round_:
            request = urllib.request.Request(
                f"{url}/config", b'{"compatibility":"NONE"}', {"Content-Type": KIND}, method="PUT"
            )
            urllib.request.urlopen(request, timeout=120).close()
        begun = threading.Semaphore(0)
        arguments = [(url, client, 10_000 * round_, answered, begun) for client in range(4)]
        threads = [threading.Thread(target=register, args=each) for each in arguments]
        for each in threads:
            each.start()
        for _ in range(random.Random(round_).randrange(5, 40)):
            assert begun.acquire(timeout=120)
        process.send_signal(signal.SIGKILL)
        for each in threads:
            each.join()
        process.communicate()
    process, url = serve(tmp_path / "data")
    try:
        check(url, answered)
    finally:
        process.terminate()
        process.communicate()


def check(url: str, answered: dict[tuple[str, int], int]) -> None:
    schemas = ask(url, "/schemas")
    there = {(each["subject"], each["version"]): each["id"] for each in schemas}
    assert there.items() >= answered.items()
    assert len({each["schema"] for each in schemas}) == len(set(there.values())) == len(there)
