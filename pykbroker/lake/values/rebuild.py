"""Begins the decoding of a topic anew, from the archive: where files of its tables are damaged or gone.

The old folder is moved aside in one step, and removed when the new one is complete; so a kill at any point leaves what the next run needs.
How values are decoded, the columns and the registry's schemas stay, so the new table is as the old one was, except for columns whose types were
given anew.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pykbroker.lake.errors import LakeError
from pykbroker.lake.hadoop_folder import Folder
from pykbroker.lake.lake import Lake
from pykbroker.lake.ledger_files import numbered
from pykbroker.lake.values.decode_options import DecodeOptions
from pykbroker.lake.values.decode_progress import DecodeAccount
from pykbroker.lake.values.decode_state import BEGUN, DECODED, LEDGER, OPTIONS_FILE
from pykbroker.lake.values.decoded_tables import SCHEMAS, DecodedTopic
from pykbroker.lake.values.types import revised

OLD = f"{DECODED}.old"


def begin_rebuild(lake: Lake, topic: str) -> DecodedTopic:
    """The topic's decoding before its first batch. Raises LakeError if the topic was never decoded."""
    here, old = f"{DECODED}/{topic}", f"{OLD}/{topic}"
    if lake.folder.exists(f"{here}/{OPTIONS_FILE}"):  # else a run was killed between the two steps
        lake.folder.delete(old)
        lake.folder.move(here, old)
    kept, new = lake.folder.within(old), lake.folder.within(here)
    kept_options = kept.read(OPTIONS_FILE)
    if kept_options is None:
        raise LakeError(f"{topic} was never decoded: there is nothing to make anew. Say how with --as.")
    new.delete("")
    for name in kept.names(SCHEMAS):
        if (schema := _whole(kept, f"{SCHEMAS}/{name}")) is not None:
            new.write(f"{SCHEMAS}/{name}", schema)
    wanted, account = DecodeOptions.from_json(kept_options, kept.at(OPTIONS_FILE)), _last_account(kept)
    columns = {
        name: each
        for name, each in account.columns.items()
        if name not in revised(account.columns, wanted.columns or {})
    }
    new.write(BEGUN, replace(account, columns=columns).to_json())
    new.write(OPTIONS_FILE, wanted.to_json())
    lake.table.forget()
    return DecodedTopic(lake, topic)


def end_rebuild(lake: Lake, topic: str) -> None:
    """Remove what was moved aside."""
    lake.folder.delete(f"{OLD}/{topic}")


def _last_account(folder: Folder) -> DecodeAccount:
    """The columns of the newest account that is whole."""
    names = [*(f"{LEDGER}/{name}" for name in reversed(numbered(folder.names(LEDGER)))), BEGUN]
    for name in names:
        try:
            account = DecodeAccount.from_json(folder.read(name) or "")
        except (LakeError, ValueError, LookupError, TypeError, AttributeError):
            continue
        return replace(DecodeAccount(), columns=account.columns)
    return DecodeAccount()


def _whole(folder: Folder, name: str) -> str | None:
    """The text of a JSON file; None if it is damaged."""
    try:
        text = folder.read(name) or ""
        json.loads(text)
    except (LakeError, ValueError):
        return None
    return text
