"""A package manager works with its own cache once the host is approved, and what it puts outside is in the list."""

from __future__ import annotations

import http.server
import importlib.util
import shutil
import socketserver
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.conftest import Lab
from worldline.policy.sandbox.model import Grant

HOST = "127.0.0.2"
"""Of this machine, but not what clients leave out of their proxy."""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[int]:
    """A package index with one package, as pip reads it."""
    folder = tmp_path / "simple" / "tiny"
    folder.mkdir(parents=True)
    meta = "tiny-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "x = 1\n")
        wheel.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(
            f"{meta}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{meta}/RECORD", "")
    (folder / "index.html").write_text('<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>')

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(tmp_path))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None: ...

    with socketserver.ThreadingTCPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_an_install_outside_is_one_download_and_one_change(lab: Lab, index: int) -> None:
    if importlib.util.find_spec("pip") is None and shutil.which("pip") is None:
        pytest.skip("there is no pip")
    install = f"python3 -m pip install -q --disable-pip-version-check --trusted-host {HOST} -i http://{HOST}:{index}/simple tiny"
    target = lab.outside / "site"
    target.mkdir()
    refused = lab.run(f"{install} --retries 0 --target t")
    assert refused.exit_code != 0 and refused.effects == []
    assert f"{HOST}:{index}" in [d["target"] for d in refused.denials]
    lab.answer = lambda host, port: ""
    inside = lab.run(f"{install} --target t; PYTHONPATH=t python3 -c 'import tiny; print(tiny.x)'")
    assert inside.output.strip().endswith(b"1") and [e["kind"] for e in inside.effects] == ["net_fetch"]
    lab.grants = [Grant("write", str(target))]
    outside = lab.run(f"{install} --target {target}")
    assert [(e["kind"], e["reversibility"]) for e in outside.effects] == [
        ("net_fetch", "undoable"),
        ("package", "undoable"),
    ]
    assert outside.effects[1]["summary"] == f"Installed into {target}" and (target / "tiny.py").exists()
