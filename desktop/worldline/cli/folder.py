"""`worldline remake-folder`: the folder of a session anew, where it is gone."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path

from worldline.cli.output import SCHEMA, print_json, told
from worldline.core.errors import BadInput
from worldline.engine.opening import OpenRequest, open_session


def remake_folder_command(options: Namespace) -> int:
    opened = open_session(OpenRequest(session=options.file, remake=True, remake_at=options.to))
    folder = opened.info.work_path
    try:
        if not opened.said:
            where = (
                f"The folder of this session, {folder}, is there."
                if folder
                else "This session has no folder."
            )
            raise BadInput(where, "Only one that is gone is made anew.")
    finally:
        if opened.work is not None:
            asyncio.run(opened.work.close())
        opened.close()
    if options.json:
        print_json({"schema": SCHEMA, "folder": str(Path(folder)), "note": opened.said})
    else:
        print(told(opened.said))
    return 0
