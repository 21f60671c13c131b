"""The made-up engine of `fake_engine`, with bodies, changes, diffs, compare and the rest of what chat and dialogs ask."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from fake_engine import STOP, Engine, notify

ROWS = [
    {"kind": "@", "text": "@@ -1,3 +1,3 @@ def parse"},
    {"kind": " ", "old": 1, "new": 1, "text": "def parse(text):"},
    {"kind": "-", "old": 2, "text": "    return text.split(',')"},
    {"kind": "+", "new": 2, "text": "    return split_quoted(text)"},
]


class FullEngine(Engine):
    asked: list[dict[str, Any]]

    def do_bodies(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"bodies": [self._body(uid) for uid in params["nodes"]]}

    def _body(self, uid: str) -> dict[str, Any]:
        row = next(h for h in self.headers if h["uid"] == uid)
        text = f"whole text of {row['preview']}"
        role = "assistant" if row["kind"] == "assistant" else "user"
        body: dict[str, Any] = {
            "uid": uid,
            "kind": row["kind"],
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
        if row["kind"] == "tool":
            body["call"] = {
                "id": "t",
                "name": row["tool"],
                "input": {"command": row["preview"]},
                "repairs": [],
            }
            body["detail"] = {"exit_code": 0, "output": f"output of {row['preview']}"}
        return body

    def do_changes(self, params: dict[str, Any]) -> dict[str, Any]:
        files = [{"path": f"src/of_{params['b'][-4:]}.py", "status": "M", "added": 1, "removed": 1}]
        files += self.script.get("more_files", [])
        return {"a": params["a"], "b": params["b"], "files": files, "added": 1, "removed": 1}

    def do_file_diff(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"change": {"path": params["path"], "status": "M", "added": 1, "removed": 1}, "rows": ROWS}

    def do_runs(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"runs": []}

    def do_complete(self, params: dict[str, Any]) -> dict[str, Any]:
        paths = ["src/parser.py", "src/lexer.py", "tests/test_parser.py"]
        return {"paths": [path for path in paths if params["prefix"] in path]}

    def do_set_settings(self, params: dict[str, Any]) -> dict[str, Any]:
        self.do_settings({})["values"].update(params["values"])
        return self.do_settings({})

    def do_grants(self, params: dict[str, Any]) -> dict[str, Any]:
        self.script.setdefault(
            "grants",
            [
                {"id": "g1", "scope": "session", "what": "ls \u202e x", "reach": "every call of t, with any arguments", "at": 1_767_000_000_000},
                {"id": "g2", "scope": "branch", "what": "make", "reach": "exactly this command, in this folder and confined no less than now", "at": 1_766_000_000_000},
            ],
        )  # fmt: skip
        return super().do_grants(params)

    def do_test_rule(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "decision": "ask",
            "parts": [{"part": params["command"], "decision": "ask", "rule": "Bash(git push:*)"}],
        }

    def do_view(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {
            "request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
            "origin": [""],
            "tokens": 5,
        }

    def do_compare(self, params: dict[str, Any]) -> dict[str, Any]:
        attempts = [
            {"leaf": uid, "title": f"attempt {n}", "outcome": "ok", "stop_reason": "completed", "steps": 3,
             "files": [{"path": "src/parser.py", "status": "M", "added": n, "removed": 0}], "added": n, "removed": 0,
             "path": [uid]}
            for n, uid in enumerate(params["nodes"], 1)
        ]  # fmt: skip
        return {"ancestor": self.headers[1]["uid"], "goal": "Fix the parser", "attempts": attempts}

    def do_bring_home(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"entries": [{"path": "src/parser.py", "action": "overwrite"}], "done": not params["dry_run"]}

    def do_answer_approval(self, params: dict[str, Any]) -> dict[str, Any]:
        notify("approval_gone", id=params["id"], why="answered")
        # The test reads the answer from the title: the only thing of the session that a window shows unchanged.
        notify("title_changed", title=json.dumps(params))
        return {}

    def run(self, text: str) -> None:
        """Prompts that begin with a word of ours flood the window in their own way; others are the base's."""
        kind, _, rest = text.partition(" ")
        if kind not in ("lines", "markdown", "threads"):
            super().run(text)
            return
        notify("run_started", run={"uid": "run1", "prompt": self.cursor, "started": 1})
        self.set_status(state="running", run="run1")
        if kind == "lines":
            node = self.append("tool", "make noise", tool="bash", outcome="running")
            for first in range(0, int(rest), 500):
                if STOP.is_set():
                    break
                notify("tool_output", node=node["uid"], stream="out",
                       text="".join(f"{n}\n" for n in range(first, first + 500)))  # fmt: skip
            node.update(outcome="ok", finished=node["created"] + 5)
            notify("node_ended", header=node)
        elif kind == "markdown":
            for n in range(3000):
                table = "\n\n| a | b | c | d |\n|---|---|---|---|\n" + "| wide cell | x | y | z |\n" * 8
                piece = (
                    table
                    if n % 150 == 75
                    else f"```py\nx = {n}\n```\n"
                    if n % 100 == 0
                    else f"word {n:05d} of it "
                )
                notify("delta", run="run1", turn=1, block=0, kind="text", text=piece)
                STOP.wait(0.001)
        else:
            threads = [threading.Thread(target=self.shout, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        reason = "aborted" if STOP.is_set() else "completed"
        run = {"uid": "run1", "prompt": self.cursor, "started": 1, "ended": 1, "stop_reason": reason}
        notify("run_ended", run=run, offers=[])
        self.set_status(state="ready", run="")

    @staticmethod
    def shout(number: int) -> None:
        for n in range(1000):
            notify("delta", run="run1", turn=number, block=0, kind="text", text=f"{n},")

    def do_export(self, params: dict[str, Any]) -> dict[str, Any]:
        if "refused" in params["out"]:
            raise ValueError("The disk is full.")
        Path(params["out"]).write_text("# exported\n")
        return {"path": params["out"], "bytes": 11}

    def do_drill(self, params: dict[str, Any]) -> dict[str, Any]:
        return {}

    def do_search(self, params: dict[str, Any]) -> dict[str, Any]:
        if params["text"] != "zyzzyva":
            return {"hits": [], "more": False}
        row = self.headers[3]
        hit = {"session": "", "uid": row["uid"], "seq": row["seq"], "kind": row["kind"]}
        return {"hits": [{**hit, "snippet": "the \x02zyzzyva\x03 of it"}], "more": False}

    def do_set_title(self, params: dict[str, Any]) -> dict[str, Any]:
        """A back door for tests: a title that is a list of notifications is sent as such."""
        for method, event in json.loads(params["title"]):
            notify(method, **event)
        return {}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as handle:
        engine = FullEngine(json.load(handle))
    for line in sys.stdin:
        if not engine.handle(json.loads(line)):
            break


if __name__ == "__main__":
    main()
