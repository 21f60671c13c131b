"""Settings files as people write them, and what of a project counts."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.engine.settings import DEFAULTS, Settings, misshapen
from worldline.protocol.commands import SetSettings
from worldline.viewmodel.rules import HERE, apart, to_save

WRONG: list[tuple[str, Any]] = [
    ("mode", "yolo"), ("mode", 3), ("model", ["a"]), ("limits", "many"), ("permissions", "all"),
    ("permissions", {"allow": "bash"}), ("approval_timeout_s", "an hour"), ("approval_timeout_s", -1),
    ("approval_timeout_s", True), ("sandbox", "maybe"), ("projects", []), ("auto_compact", "yes"), ("hooks", []),
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORLDLINE_HOME", str(tmp_path / "home"))
    return paths.data_home()


def project(tmp_path: Path, **values: Any) -> Path:
    folder = tmp_path / "project"
    (folder / ".worldline").mkdir(parents=True)
    (folder / ".worldline" / "settings.json").write_text(json.dumps(values))
    return folder


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_value_of_the_wrong_kind_is_named_and_left_out(
    home: Path, tmp_path: Path, key: str, value: Any
) -> None:
    paths.config_file().write_text(json.dumps({key: value, "model": "m"} | {key: value}))
    settings = Settings(project(tmp_path, permissions={"ask": ["Bash(git push:*)"]}))
    assert any(f"`{key}`" in p and str(paths.config_file()) in p for p in settings.problems)
    if key != "permissions":
        assert settings.get(key) == DEFAULTS.get(key)


def test_every_default_is_a_value_that_may_be_written() -> None:
    assert misshapen(DEFAULTS) == {}
    assert misshapen({"mode": None, "approval_timeout_s": 2.5, "of another program": object()}) == {}


def test_a_project_does_not_choose_the_mode_before_it_is_trusted(home: Path, tmp_path: Path) -> None:
    folder = project(tmp_path, mode="work", hooks={"Stop": ["true"]})
    settings = Settings(folder, folder=str(folder))
    assert settings.get("mode") == "ask"
    assert any("mode" in p and "trusted" in p for p in settings.problems)
    paths.config_file().write_text(json.dumps({"projects": {str(folder): {"trusted": True}}}))
    settings.reload()
    assert settings.get("mode") == "work" and not settings.problems


async def test_rules_that_another_window_added_stay(bench: Any, home: Path) -> None:
    one = await bench()
    root = one.actor.shared.info.root
    other = Settings(None, folder=root)
    other.change({"projects": {root: {"permissions": {"allow": ["Bash(make:*)"]}}}})
    one.actor.approvals._save_rule("Bash(ls:*)")
    stored = json.loads(paths.config_file().read_text())["projects"][root]["permissions"]["allow"]
    assert stored == ["Bash(make:*)", "Bash(ls:*)"]


async def test_whose_a_rule_is_is_told_so_that_it_stays_theirs(bench: Any, home: Path) -> None:
    """The page of the rules wrote back all that counted as the person's own: what was allowed in one folder was allowed
    everywhere from then on, and what was taken out of the list came back."""
    paths.config_file().write_text(json.dumps({"permissions": {"deny": ["Bash(rm:*)"]}}))
    b = await bench()
    root = b.actor.shared.info.root
    b.actor.approvals._save_rule("Bash(ls:*)")
    result = b.actor.preferences.settings().model_dump()
    assert result["values"]["permissions"]["allow"] == ["Bash(ls:*)"] and result["folder"] == root
    assert result["rules"]["own"]["deny"] == ["Bash(rm:*)"] and not result["rules"]["own"]["allow"]
    assert result["rules"]["here"] == {"allow": ["Bash(ls:*)"]} and result["rules"]["project"] == {}
    shown = apart(result)["permissions"]
    await handled(b, to_save({**shown, "ask": ["Bash(git push:*)"]}, root))
    stored = json.loads(paths.config_file().read_text())
    assert stored["permissions"] == {"deny": ["Bash(rm:*)"], "ask": ["Bash(git push:*)"], "allow": []}
    assert stored["projects"][root]["permissions"]["allow"] == ["Bash(ls:*)"]
    # Taken back where it is shown.
    await handled(b, to_save({**shown, HERE: []}, root))
    assert b.actor.preferences.settings().values["permissions"]["allow"] == []


async def test_a_value_of_the_wrong_kind_is_not_saved(bench: Any, home: Path) -> None:
    b = await bench()
    with pytest.raises(BadInput, match="mode"):
        await handled(b, {"mode": "yolo", "model": "m"})
    assert not paths.config_file().exists()
    await handled(b, {"mode": "plan"})
    assert json.loads(paths.config_file().read_text()) == {"mode": "plan"}


async def handled(b: Any, values: dict[str, Any]) -> Any:
    return await b.actor.handle("set_settings", SetSettings(values=values))


def test_settings_that_cannot_be_saved_leave_nothing_behind(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(None)
    settings.change({"mode": "plan"})
    before = sorted(paths.config_file().parent.iterdir())

    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(WorldlineError, match="could not be saved"):
        settings.change({"mode": "work"})
    assert sorted(paths.config_file().parent.iterdir()) == before
    assert Settings(None).get("mode") == "plan"


def test_a_settings_file_that_is_none_is_told_and_not_waited_for(tmp_path: Path) -> None:
    """A command of the agent can put anything there."""
    place = tmp_path / ".worldline"
    place.mkdir()
    os.mkfifo(place / "settings.json")
    assert "cannot be read" in Settings(tmp_path).problems[0]
    (place / "settings.json").unlink()
    (place / "settings.json").write_text("[" * 100_000)
    assert "not JSON" in Settings(tmp_path).problems[0]


def test_one_list_written_wrong_takes_no_deny_rule_along(home: Path, tmp_path: Path) -> None:
    folder = project(tmp_path)
    paths.config_file().write_text(
        json.dumps(
            {
                "permissions": {
                    "deny": ["Bash(npm publish:*)"],
                    "ask": "Bash(git push:*)",
                    "allow": "Bash(rm:*)",
                },
                "projects": {str(folder): {"permissions": {"deny": "Bash(docker:*)", "allow": 3}}},
            }
        )
    )
    settings = Settings(folder, folder=str(folder))
    assert settings.get("permissions") == {
        "deny": ["Bash(npm publish:*)", "Bash(docker:*)"], "ask": ["Bash(git push:*)"], "allow": [],
    }  # fmt: skip
    assert len(settings.problems) == 2 and any(str(folder) in problem for problem in settings.problems)
