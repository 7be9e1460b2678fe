"""All routes below ``/api/v1``."""

from __future__ import annotations

from typing import Final

from pykbroker.http.api import brokers, clock, faults, lives, loggers, requests, schemas, seeds
from pykbroker.http.api.route import Route

_NO_RULE: Final = {404: "there is no rule of this number"}
_WRONG_BROKER: Final = {409: "there is no such broker in the state for it"}
_MAY_NOT_FORGET: Final = {409: "the data of this broker stay: it was not started with --ephemeral"}

ROUTES: Final = (
    Route("GET", "/faults", "listFaults", "The faults there are.", faults.listed, schemas.FAULTS),
    Route(
        *("POST", "/faults", "addFault", "Let a fault act from now on.", faults.add, schemas.FAULT),
        body=schemas.NEW_FAULT,
    ),
    Route("DELETE", "/faults", "clearFaults", "End all faults; what they held goes on.", faults.clear, schemas.FAULTS),
    Route(
        *("GET", "/faults/{number}", "getFault", "A fault, and how often it acted.", faults.one, schemas.FAULT),
        refusals=_NO_RULE,
    ),
    Route(
        *("DELETE", "/faults/{number}", "removeFault", "End a fault; what it held goes on.", faults.remove),
        *(schemas.FAULT,),
        refusals=_NO_RULE,
    ),
    Route("GET", "/brokers", "listBrokers", "The brokers of the process.", brokers.listed, schemas.BROKERS),
    Route(
        *("POST", "/brokers/{id}/stop", "stopBroker", "A controlled shutdown: what it leads moves."),
        *(brokers.stop, schemas.BROKERS),
        refusals=_WRONG_BROKER,
    ),
    Route(
        *("POST", "/brokers/{id}/kill", "killBroker", "Cut its connections, then fence it.", brokers.kill),
        *(schemas.BROKERS,),
        refusals=_WRONG_BROKER,
    ),
    Route(
        *("POST", "/brokers/{id}/start", "startBroker", "Start it again, on its ports.", brokers.start),
        *(schemas.BROKERS,),
        refusals=_WRONG_BROKER,
    ),
    Route("GET", "/clock", "getClock", "What time it is for the brokers.", clock.now, schemas.CLOCK),
    Route(
        *("POST", "/clock/advance", "advanceClock", "Let time pass; answered when all that became due is done."),
        *(clock.advance, schemas.CLOCK),
        body=schemas.made(by=schemas.TEXT),
        refusals={409: "time passes by itself here"},
    ),
    Route(
        *("POST", "/reset", "reset", "As at the start; connections of clients are cut.", lives.reset, schemas.NOTHING),
        refusals=_MAY_NOT_FORGET,
    ),
    Route("GET", "/snapshots", "listSnapshots", "The names of snapshots.", lives.listed, schemas.SNAPSHOTS),
    Route(
        *("PUT", "/snapshots/{name}", "keepSnapshot", "Keep all data as it is now.", lives.keep, schemas.SNAPSHOTS),
        refusals={409: "there is no room for it"},
    ),
    Route(
        *("POST", "/snapshots/{name}/restore", "restoreSnapshot", "Go on with what was kept; connections are cut."),
        *(lives.restore, schemas.NOTHING),
        refusals={404: "there is no snapshot of this name", **_MAY_NOT_FORGET},
    ),
    Route(
        *("POST", "/seeds", "sowSeed", "Put topics and records in.", seeds.sown, schemas.SOWN),
        takes=seeds.TAKES,
        query=seeds.TOPIC,
        refusals={409: "the cluster refuses a topic or a record"},
    ),
    Route(
        *("GET", "/seeds", "harvestSeed", "Take topics and records out.", seeds.harvested),
        gives=seeds.GIVES,
        query=seeds.WHICH,
        refusals={404: "there is no topic of this name", 409: "there is too much of it", 415: "YAML is not installed"},
    ),
    Route(
        *("GET", "/requests", "listRequests", "What clients sent, in its order.", requests.listed, schemas.REQUESTS),
        query=requests.QUERY,
    ),
    Route(
        *("DELETE", "/requests", "forgetRequests", "Forget what was noted.", requests.forget, schemas.RECORDING),
    ),
    Route(
        *("PUT", "/requests/recording", "recordRequests", "Note requests from now on, or no more."),
        *(requests.record, schemas.RECORDING),
        body=schemas.made(on=schemas.FLAG),
        refusals={409: "a test's broker notes them always"},
    ),
    Route(
        "GET", "/loggers", "listLoggers", "The loggers there are, and their levels.", loggers.listed, schemas.LOGGERS
    ),
    Route(
        *("PUT", "/loggers/{name}", "setLevel", "Log from this level on; null: as the logger above.", loggers.alter),
        *(schemas.LOGGERS,),
        body=schemas.made(level=schemas.MAYBE_TEXT),
        refusals={404: "there is no logger of this name"},
    ),
)
