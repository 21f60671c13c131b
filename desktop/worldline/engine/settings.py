"""Settings: the person's, and the project's on top of them."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.plainfile import read_plain

DEFAULTS: dict[str, Any] = {
    "mode": "ask",
    "model": "",
    "effort": "",
    "base_url": "",
    "chain": [],
    "retry": {},
    "timeouts": {},
    "full_api": False,
    "limits": {},
    "sub_agents": {},
    "permissions": {"allow": [], "ask": [], "deny": []},
    "backtracking": "ask",
    "branch_summary": "none",
    "approval_timeout_s": 0,
    "auto_compact": True,
    "sandbox": "on",
    "retention_days": 0,
    "ready_copy": True,
}
_SHAPES: dict[str, tuple[type[Any], ...]] = {
    **{key: (type(value),) for key, value in DEFAULTS.items()},
    "approval_timeout_s": (int, float),
    "instructions": (str,),
    "branch_summary": (str,),
    "projects": (dict,),
    "mcpServers": (dict,),
    "hooks": (dict,),
}
"""Key → the types its value may have. Other keys are nobody's business here."""
_CHOICES = {"mode": ("plan", "ask", "work"), "sandbox": ("on", "off"), "backtracking": ("off", "ask", "auto")}
_MOST_BYTES = 4 << 20
"""Of a settings file. One of a project may be anything, a pipe that nobody writes to as well."""
_PROJECT_MAY_NOT_SET = frozenset(
    {
        "base_url",
        "limits",
        "chain",
        "projects",
        "sandbox",
        "sub_agents",
        "retry",
        "timeouts",
        "full_api",
        "retention_days",
        "ready_copy",
    }
)
"""A repository that is only being looked at must not send the person's key elsewhere or lift their limits."""
_ONLY_WHEN_TRUSTED = frozenset({"hooks", "mode"})
"""They run commands, or decide what is done unasked: from a project only when the person has set
`projects.<folder>.trusted`."""
_ASKED_ABOUT = frozenset({"mcpServers"})
"""Read from the project by whoever asks the person about each (`engine.mcp`); never mixed with the person's own."""


def misshapen(values: dict[str, Any]) -> dict[str, str]:
    """Key → the beginning of a sentence about it, for each value that nothing could be done with. None is no value."""
    wrong = {}
    for key, value in values.items():
        shapes = _SHAPES.get(key)
        if value is None or shapes is None:
            continue
        if not isinstance(value, shapes) or (isinstance(value, bool) and bool not in shapes):
            wrong[key] = f"`{key}` has a value of the wrong type ({type(value).__name__})"
        elif isinstance(value, str) and value not in _CHOICES.get(key, (value,)):
            wrong[key] = f"`{key}` is {value!r} (possible: {', '.join(_CHOICES[key])})"
        elif (
            key == "permissions"
            and isinstance(value, dict)
            and not all(isinstance(v, list) for v in value.values())
        ):
            wrong[key] = "`permissions` holds something else than lists of rules"
        elif key == "approval_timeout_s" and isinstance(value, int | float) and value < 0:
            wrong[key] = "`approval_timeout_s` is below 0"
    return wrong


def project_file(root: Path) -> Path:
    return root / ".worldline" / "settings.json"


def read_file(path: Path) -> dict[str, Any]:
    """The values of one settings file; {} when there is none. Raises BadInput when it cannot be understood."""
    try:
        text = read_plain(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"The settings in {path} cannot be read: {error}.", "Correct or remove the file."
        ) from None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"The settings in {path} are not JSON: {error}.", "Correct or remove the file."
        ) from None
    if not isinstance(values, dict):
        raise BadInput(f"The settings in {path} are not a JSON object.", "Correct or remove the file.")
    return values


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, objects key by key; None takes a key out. Neither is changed."""
    result = dict(base)
    for key, value in over.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = value
    return result


def add_permissions(values: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The lists of rules of `more` behind those of `values`; nothing is replaced."""
    given = more.get("permissions")
    if not isinstance(given, dict):
        return values
    own = values.get("permissions", {})
    lists = {k: [*own.get(k, []), *v] for k, v in lists_of(given).items()}
    return {**values, "permissions": {**own, **lists}}


def lists_of(given: Any) -> dict[str, list[Any]]:
    """The lists of rules that can be used. One that is written wrong takes no other along, and a text where a list should
    be still denies or asks: a slip never allows anything."""
    if not isinstance(given, dict):
        return {}
    texts = {k: [v] for k, v in given.items() if k in ("deny", "ask") and isinstance(v, str)}
    return texts | {k: v for k, v in given.items() if isinstance(v, list)}


def rules_of(values: dict[str, Any]) -> dict[str, list[str]]:
    given = values.get("permissions")
    lists = given.items() if isinstance(given, dict) else ()
    return {str(key): [str(one) for one in rules] for key, rules in lists if isinstance(rules, list)}


def without_allow(values: dict[str, Any]) -> dict[str, Any]:
    permissions = values.get("permissions")
    if not isinstance(permissions, dict):
        return values
    return {**values, "permissions": {k: v for k, v in permissions.items() if k != "allow"}}


class Settings:
    """What holds for one session. `problems` are sentences about files that could not be used: the session goes on
    with the rest, and the person is told."""

    def __init__(
        self, root: Path | None, overrides: dict[str, Any] | None = None, *, folder: str = ""
    ) -> None:
        """`root`: where the project's file is looked for; `folder`: the folder that the person opened, under which
        their own settings keep what holds there alone."""
        self._root = root
        self._folder = folder
        self._overrides = overrides or {}
        self.problems: list[str] = []
        self.values: dict[str, Any] = {}
        self.rules: dict[str, dict[str, list[str]]] = {}
        """The rules of `values` by where they stand: "own", "here" (for this folder alone), "project"."""
        self.reload()

    def reload(self) -> None:
        self.problems.clear()
        values = merge(DEFAULTS, self._read(paths.config_file()))
        self.rules = {"own": rules_of(values), "here": {}, "project": {}}
        if self._root is not None:
            project = self._read(project_file(self._root))
            trusted = self._folder != "" and self.for_folder(self._folder, values).get("trusted") is True
            may_not = _PROJECT_MAY_NOT_SET if trusted else _PROJECT_MAY_NOT_SET | _ONLY_WHEN_TRUSTED
            refused = sorted(may_not & project.keys())
            if refused:
                self.problems.append(
                    f"{project_file(self._root)} sets {', '.join(refused)}, which is not taken over from a project"
                    + ("." if trusted else " that you have not marked as trusted in your settings.")
                )
            allowed = {k: v for k, v in project.items() if k not in may_not | _ASKED_ABOUT}
            rules = allowed if trusted else without_allow(allowed)
            if rules is not allowed and "allow" in (allowed.get("permissions") or {}):
                self.problems.append(
                    f"The allow rules in {project_file(self._root)} are not used: the project is not trusted."
                )
            self.rules["project"] = rules_of(rules)
            # The person's rules stay: a project adds to the lists and never replaces them.
            values = merge(
                add_permissions(values, rules), {k: v for k, v in allowed.items() if k != "permissions"}
            )
        if self._folder:
            here = self.for_folder(self._folder, values)
            self.problems.extend(
                f"{sentence} for {self._folder} in {paths.config_file()}."
                for key, sentence in misshapen(here).items()
                if key == "permissions"
            )
            self.rules["here"] = rules_of(here)
            values = add_permissions(values, here)
        self.values = merge(values, self._overrides)

    @property
    def folder(self) -> str:
        """Under which name the person's settings keep what holds in this folder alone; "" = no folder."""
        return self._folder

    def for_folder(self, folder: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the person's own settings hold for one folder alone."""
        projects = (self.values if values is None else values).get("projects")
        found = projects.get(folder) if isinstance(projects, dict) else None
        return found if isinstance(found, dict) else {}

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            values = read_file(path)
        except BadInput as error:
            self.problems.append(str(error))
            return {}
        wrong = misshapen(values)
        self.problems.extend(
            f"{sentence} in {path} and is not used"
            + (", but for its lists that can be." if key == "permissions" else ".")
            for key, sentence in wrong.items()
        )
        usable = {key: value for key, value in values.items() if key not in wrong}
        if "permissions" in wrong:
            usable["permissions"] = lists_of(values["permissions"])
        return usable

    def get(self, key: str) -> Any:
        return self.values.get(key, DEFAULTS.get(key))

    def ordered(self, key: str) -> bool:
        """Whether it was given for this start, above all settings files."""
        return key in self._overrides

    def text(self, key: str) -> str:
        value = self.get(key)
        return value if isinstance(value, str) else ""

    def change(self, values: dict[str, Any]) -> None:
        """Merge into the person's own file, durably; what is in the file and unknown here stays."""
        path = paths.config_file()
        merged = merge(read_file(path), values)
        passing = ""
        try:
            with tempfile.NamedTemporaryFile(
                "wb", dir=path.parent, delete=False, prefix=".settings"
            ) as handle:
                passing = handle.name
                handle.write(json.dumps(merged, ensure_ascii=False, indent=2).encode("utf-8") + b"\n")
                handle.flush()
                os.fsync(handle.fileno())
            Path(passing).replace(path)
        except OSError as error:
            if passing:
                Path(passing).unlink(missing_ok=True)
            raise WorldlineError(
                f"The settings could not be saved: {error.strerror}.", "Is the disk full?"
            ) from error
        self._overrides = {k: v for k, v in self._overrides.items() if k not in values}
        self.reload()
