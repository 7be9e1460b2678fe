"""All routes below ``/api/v1``."""

from __future__ import annotations

from typing import Final

from pykbroker.http.api import loggers, requests, schemas, seeds
from pykbroker.http.api.route import Route

_NO_RULE: Final = {404: "there is no rule with this number"}
_WRONG_BROKER: Final = {409: "there is no such broker in the required state"}
_MAY_NOT_FORGET: Final = {409: "the broker keeps its data: it was not started with --ephemeral"}

ROUTES: Final = (
    Route("GET", "/faults", "listFaults", "List faults.", None, schemas.FAULTS),
    Route(
        *("POST", "/faults", "addFault", "Add a fault.", None, schemas.FAULT),
        body=schemas.NEW_FAULT,
    ),
    Route(
        "DELETE",
        "/faults",
        "clearFaults",
        "Remove all faults; requests that they held continue.",
        None,
        schemas.FAULTS,
    ),
    Route(
        *("GET", "/faults/{number}", "getFault", "Show a fault, with how often it fired.", None, schemas.FAULT),
        refusals=_NO_RULE,
    ),
    Route(
        *("DELETE", "/faults/{number}", "removeFault", "Remove a fault; requests that it held continue."),
        *(None,),
        *(schemas.FAULT,),
        refusals=_NO_RULE,
    ),
    Route("GET", "/chaos", "getChaos", "Show the chaos, and what has befallen clients by it.", None, schemas.CHAOS),
    Route(
        *("PUT", "/chaos", "beginChaos", "Begin chaos by a seed or a tape, until a reset.", None, schemas.CHAOS),
        body=schemas.NEW_CHAOS,
    ),
    Route("DELETE", "/chaos", "endChaos", "End the chaos; returns what has befallen.", None, schemas.CHAOS),
    Route("GET", "/brokers", "listBrokers", "List the brokers of the process.", None, schemas.BROKERS),
    Route(
        *("POST", "/brokers/{id}/stop", "stopBroker", "Stop a broker by a controlled shutdown: its leaderships move."),
        *(None, schemas.BROKERS),
        refusals=_WRONG_BROKER,
    ),
    Route(
        *("POST", "/brokers/{id}/kill", "killBroker", "Kill a broker: close its connections, then fence it."),
        *(None,),
        *(schemas.BROKERS,),
        refusals=_WRONG_BROKER,
    ),
    Route(
        *("POST", "/brokers/{id}/start", "startBroker", "Start a broker again, on its ports.", None),
        *(schemas.BROKERS,),
        refusals=_WRONG_BROKER,
    ),
    Route("GET", "/clock", "getClock", "Show the brokers' time.", None, schemas.CLOCK),
    Route(
        *("POST", "/clock/advance", "advanceClock", "Advance time; returns when all that became due is done."),
        *(None, schemas.CLOCK),
        body=schemas.made(by=schemas.TEXT),
        refusals={409: "the clock is not manual"},
    ),
    Route(
        *("POST", "/reset", "reset", "Reset to the state at the start; connections are closed.", None),
        *(schemas.NOTHING,),
        refusals=_MAY_NOT_FORGET,
    ),
    Route("GET", "/snapshots", "listSnapshots", "List snapshots.", None, schemas.SNAPSHOTS),
    Route(
        *("PUT", "/snapshots/{name}", "keepSnapshot", "Take a snapshot of all data.", None, schemas.SNAPSHOTS),
        refusals={409: "there is no space for it"},
    ),
    Route(
        *("POST", "/snapshots/{name}/restore", "restoreSnapshot", "Restore a snapshot; connections are closed."),
        *(None, schemas.NOTHING),
        refusals={404: "there is no snapshot with this name", **_MAY_NOT_FORGET},
    ),
    Route(
        *("POST", "/seeds", "loadSeed", "Import topics and records.", seeds.loaded, schemas.LOADED_SEED),
        takes=seeds.TAKES,
        most=seeds.LARGEST,
        query=seeds.OF_LINES,
        refusals={409: "the cluster refuses a topic or a record"},
    ),
    Route(
        *("GET", "/seeds", "dumpSeed", "Export topics and records.", seeds.dumped),
        gives=seeds.GIVES,
        query=seeds.WHICH,
        refusals={
            404: "there is no topic with this name",
            409: "the export is too large",
            415: "YAML is not installed",
        },
    ),
    Route(
        *("GET", "/requests", "listRequests", "List the recorded requests of clients, in order.", requests.listed),
        *(schemas.REQUESTS,),
        query=requests.QUERY,
    ),
    Route(
        *("DELETE", "/requests", "forgetRequests", "Clear the recorded requests.", requests.forget, schemas.RECORDING),
    ),
    Route(
        *("PUT", "/requests/recording", "recordRequests", "Start or stop recording requests."),
        *(requests.record, schemas.RECORDING),
        body=schemas.made(on=schemas.FLAG),
        refusals={409: "a test's broker always records them"},
    ),
    Route("GET", "/loggers", "listLoggers", "List loggers and their levels.", loggers.listed, schemas.LOGGERS),
    Route(
        *("PUT", "/loggers/{name}", "setLevel", "Set a logger's level; null: that of its parent.", loggers.alter),
        *(schemas.LOGGERS,),
        body=schemas.made(level=schemas.MAYBE_TEXT),
        refusals={404: "there is no logger with this name"},
    ),
)
