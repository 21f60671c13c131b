"""An engine for tests of the window alone: the protocol over standard streams, a made-up session, no disk, no model.

`fake_engine.py SCRIPT.json`: {"headers": [...], "cursor", "status", "plan": uid → JumpPlan, "slow_hello_s"}.
A prompt is answered with deltas and two nodes. Prompts that start with "forever" stream until they are stopped.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

LOCK = threading.Lock()
STOP = threading.Event()


def send(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def notify(method: str, **params: Any) -> None:
    send({"method": method, "params": params})


class Engine:
    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.headers: list[dict[str, Any]] = script["headers"]
        self.cursor: str = script["cursor"]
        self.labels: dict[str, dict[str, str]] = {}
        self.status: dict[str, Any] = {"state": "ready", "model": "sonnet-5.5", **script.get("status", {})}

    def seq(self, uid: str) -> int:
        return next(h["seq"] for h in self.headers if h["uid"] == uid)

    def append(self, kind: str, preview: str, **more: Any) -> dict[str, Any]:
        seq = len(self.headers) + 1
        header = {
            "seq": seq,
            "uid": f"{seq:016x}",
            "parent": self.seq(self.cursor) if self.cursor else 0,
            "kind": kind,
            "created": int(time.time() * 1000),
            "preview": preview,
            **more,
        }
        self.headers.append(header)
        self.cursor = header["uid"]
        notify("node_stored", header=header)
        notify("cursor_moved", node=self.cursor, why="append")
        return header

    def set_status(self, **changes: Any) -> None:
        self.status.update(changes)
        notify("status", status=self.status)

    def do_hello(self, _params: dict[str, Any]) -> dict[str, Any]:
        time.sleep(self.script.get("slow_hello_s", 0))
        if self.script.get("refuse"):
            raise ValueError(self.script["refuse"])
        session = {
            "path": "/tmp/none.worldline", "title": "fix-parser", "created": 0, "workspace_mode": "isolated",
            "root": "/home/me/code/shop", "work_path": "/home/me/work/shop", "is_git": True,
            **self.script.get("session", {}),
        }  # fmt: skip
        return {
            "protocol": 1, "version": "0", "session": session, "cursor": self.cursor, "status": self.status,
            "run": None, "approvals": self.script.get("approvals", []), "questions": [],
            "recovered": self.script.get("recovered", ""), "problems": self.script.get("problems", []),
        }  # fmt: skip

    def do_headers(self, params: dict[str, Any]) -> dict[str, Any]:
        rows = [h for h in self.headers if h["seq"] > params.get("since", 0)]
        return {"headers": rows[: params.get("limit", 100000)], "cursor": self.cursor}

    def do_labels(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"labels": [{"node": uid, **label} for uid, label in self.labels.items()]}

    def do_retention(self, _params: dict[str, Any]) -> dict[str, Any]:
        return self.script.get("retention", {"days": 0, "nodes": 0})

    def do_node_lines(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"nodes": []}

    def do_models(self, _params: dict[str, Any]) -> dict[str, Any]:
        models = [
            {"id": "sonnet-5.5", "name": "Sonnet 5.5", "efforts": ["low", "medium", "high"]},
            {"id": "opus-5.5", "name": "Opus"},
        ]
        effort = self.do_settings({})["values"].get("effort", "")
        return {"models": models, "default": "sonnet-5.5", "chain": ["opus-5.5"], "effort": effort}

    def do_settings(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {
            "values": self.script.setdefault(
                "settings", {"mode": "ask", "permissions": {"ask": ["Bash(git push:*)"]}}
            )
        }

    def do_bodies(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"bodies": []}

    def do_changes(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"a": params["a"], "b": params["b"], "files": [], "added": 0, "removed": 0}

    def do_runs(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"runs": self.script.get("runs", [])}

    def do_set_label(self, params: dict[str, Any]) -> dict[str, Any]:
        label = self.labels.setdefault(params["node"], {})
        label[params["what"]] = params["text"]
        label["color"] = params.get("color", "")
        notify("label_changed", node=params["node"], **label)
        return {}

    def do_jump(self, params: dict[str, Any]) -> dict[str, Any]:
        plan = self.script.get("plans", {}).get(params["node"])
        if plan and not params.get("plan"):
            return {"plan": plan}
        self.cursor = params["node"]
        notify("cursor_moved", node=self.cursor, why="jump")
        return {
            "result": {
                "node": params["node"], "cursor": self.cursor, "branch": "worldline/fix-parser/3",
                "verified": 14, "of": 14, "entries": [], "effects_left": [], "composer_text": "",
            }
        }  # fmt: skip

    def do_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        STOP.clear()
        user = self.append("user", params["text"])
        threading.Thread(target=self.run, args=(params["text"],), daemon=True).start()
        return {"run": "run1", "node": user["uid"], "queued": 0}

    def run(self, text: str) -> None:
        info = {"uid": "run1", "prompt": self.cursor, "started": int(time.time() * 1000)}
        self.set_status(state="running", run="run1")
        notify("run_started", run=info)
        count = 10**9 if text.startswith("forever") else 20
        for number in range(count):
            if STOP.wait(0.002):
                break
            notify("delta", run="run1", turn=1, block=0, kind="text", text=f"word {number} ")
        self.append("assistant", "I did what you asked.", outcome="ok", model="sonnet-5.5")
        reason = "aborted" if STOP.is_set() else "completed"
        notify("run_ended", run={**info, "ended": 1, "stop_reason": reason}, offers=[])
        self.set_status(state="ready", run="", last_stop=reason)

    def do_stop(self, _params: dict[str, Any]) -> dict[str, Any]:
        STOP.set()
        return {}

    def do_search(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"hits": [], "more": False}

    def do_effects(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {
            "cursor": self.cursor,
            "here": self.script.get("effects", []),
            "elsewhere": [],
            "processes": self.script.get("processes", []),
        }

    def do_grants(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"grants": self.script.get("grants", [])}

    def do_remove_grant(self, params: dict[str, Any]) -> dict[str, Any]:
        left = [grant for grant in self.script.get("grants", []) if grant["id"] != params["id"]]
        self.script["grants"] = left
        return {"grants": left}

    def do_credential(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"service": "anthropic", "source": "none", "note": ""}

    def do_diagnostics(self, _params: dict[str, Any]) -> dict[str, Any]:
        return {"items": [{"id": 1, "kind": "retry", "at": 0, "detail": "Overloaded."}]}

    def handle(self, request: dict[str, Any]) -> bool:
        number, method = request["id"], request["method"]
        if method == "shutdown":
            send({"id": number, "result": {}})
            return False
        call = getattr(self, f"do_{method}", None)
        if call is None:
            with open(sys.argv[1] + ".refused", "a", encoding="utf-8") as handle:
                handle.write(f"{method}\n")
            send({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})
            return True
        try:
            send({"id": number, "result": call(request.get("params") or {})})
        except ValueError as error:
            send(
                {
                    "id": number,
                    "error": {
                        "code": 1,
                        "message": str(error),
                        "data": {"kind": "locked", "hint": "Close it."},
                    },
                }
            )
        return True


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as handle:
        engine = Engine(json.load(handle))
    for line in sys.stdin:
        if not engine.handle(json.loads(line)):
            break


if __name__ == "__main__":
    main()
