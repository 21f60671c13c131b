"""A bundle carries a session and its files to a machine that knows nothing of them."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.kinds import NodeKind
from worldline.engine.bundle import is_bundle, read_bundle, write_bundle
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
from worldline.session.reader import SessionReader
from worldline.workspace.engine import Workspace


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder, store = tmp_path / "work", tmp_path / "store"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    (folder / "a.txt").write_bytes(b"one\r\n")
    workspace = Workspace(folder, store)
    first = workspace.capture(None)
    (folder / "a.txt").write_text("two\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    second = workspace.capture(first.state)
    workspace.close()
    place = {"mode": "in_place", "root": str(folder), "path": str(folder), "store": str(store), "slug": "s"}
    with SessionDocument.create(tmp_path / "s.worldline", title="S", workspace=place) as session:
        root = session.append(NodeDraft(kind=NodeKind.ROOT, parent=None, state=first.state))
        session.append(NodeDraft(kind=NodeKind.EXTERNAL_CHANGE, parent=root.uid, state=second.state))
    out = tmp_path / "s.zip"
    assert write_bundle(tmp_path / "s.worldline", out) == 2
    return out


def test_another_machine_opens_it_with_its_files(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "elsewhere"))
    assert is_bundle(bundle)
    report = read_bundle(bundle)
    with SessionReader(Path(report["out"])) as session:
        place = session.info()["workspace"]
        states = [h.state for h in session.headers()]
    folder = Path(place["path"])
    assert (folder / "a.txt").read_text() == "two\n" and (folder / "run.sh").stat().st_mode & 0o111
    workspace = Workspace(folder, Path(place["store"]))
    plan = workspace.plan(states[0], last=states[1], users=set(), choices={})
    assert workspace.apply(plan, new_branch=None).done
    workspace.close()
    assert (folder / "a.txt").read_bytes() == b"one\r\n" and not (folder / "run.sh").exists()


def test_a_damaged_bundle_leaves_nothing_behind(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "elsewhere"))
    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(bundle) as source, zipfile.ZipFile(bad, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data + b"x" if name.startswith("objects/blob") else data)
    with pytest.raises(WorldlineError, match="damaged"):
        read_bundle(bad, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == [] and list(paths.stores_dir().iterdir()) == []
    with pytest.raises(BadInput, match="already there"):
        write_bundle(tmp_path / "s.worldline", bundle)
