"""`worldline inspect`, `view` and `effects`: reading a session. Nothing is changed, no lock is taken."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from worldline.cli.output import SCHEMA, node_json, print_json, say, told, usage_json
from worldline.cli.reading import read_with
from worldline.engine.effects import EffectList
from worldline.engine.shared import Shared
from worldline.protocol.commands import View
from worldline.protocol.model import EffectInfo
from worldline.session.document import SessionDocument

_REVERSIBILITY = {
    "undoable": "can be undone",
    "compensatable": "can be countered",
    "irreversible": "cannot be undone",
}
_EVIDENCE = {
    "enforced": "seen and allowed",
    "observed": "seen",
    "assumed": "assumed",
    "guessed": "guessed from the command",
}


def inspect_command(options: Namespace) -> int:
    facts = read_with(options.file, inspection)
    for text in facts["damage"]:
        say(text)
    if options.json:
        print_json(facts)
        return 1 if facts["damage"] else 0
    session = facts["session"]
    print(f"{session['title'] or told('(no title)')}  {session['path']}")
    print(f"{session['workspace'].get('mode', 'none')}: {session['workspace'].get('path', '')}")
    for node in facts["nodes"]:
        mark = "*" if node["uid"] == facts["cursor"] else " "
        stats = f" +{node['added']} -{node['removed']}" if node["files"] else ""
        print(
            f"{mark} {node['uid'][:8]} {node['kind']:16} {node['outcome']:12} {node['preview'][:90]}{stats}"
        )
    for run in facts["runs"]:
        print(f"run {run['uid'][:8]}: {run['stop_reason'] or told('going on')}  {told(run['detail'])}")
    return 1 if facts["damage"] else 0


def inspection(shared: Shared) -> dict[str, Any]:
    """What `inspect --json` prints."""
    doc = shared.doc
    info = doc.info()
    place = info.pop("workspace")
    return {
        "schema": SCHEMA,
        "session": {
            **{k: v for k, v in info.items() if isinstance(v, str | int | bool)},
            "workspace": {
                "mode": place.get("mode", "none"),
                "root": place.get("root", ""),
                "path": place.get("path", ""),
                "base_commit": place.get("base_commit", ""),
                "base_branch": place.get("base_branch", ""),
                "is_git": bool(place.get("is_git")),
            },
        },
        "nodes": nodes_json(doc),
        "cursor": doc.cursor if len(doc.tree) else None,
        "runs": [
            {
                "uid": run.uid,
                "prompt": run.prompt,
                "started": run.started,
                "end": run.ended or None,
                "stop_reason": run.stop_reason.value if run.stop_reason else None,
                "detail": run.detail,
                "api_said": run.api_said,
                "usage": usage_json(run.usage),
            }
            for run in doc.runs()
        ],
        "effects": [e.model_dump(mode="json") for e in EffectList(shared).all()],
        "diagnostics": [
            {
                "kind": r.data.get("kind", ""),
                "node": r.node or None,
                "run": r.run,
                "at": r.at,
                "detail": r.data.get("detail", ""),
                "data": r.data.get("data", {}),
            }
            for r in doc.records("diagnostic")
        ],
        "damage": doc.damage,
    }


def nodes_json(doc: SessionDocument) -> list[dict[str, Any]]:
    headers = doc.headers()
    uids = {h.seq: h.uid for h in headers}
    return [
        {**node_json(h, uids.get(h.parent, "")), "usage": usage_json(doc.usage(h.uid)) if h.model else None}
        for h in headers
    ]


def view_command(options: Namespace) -> int:
    from worldline.engine.factory import view_base
    from worldline.engine.views import view_at

    def look(shared: Shared) -> tuple[View, list[str]]:
        base = view_base(shared, model=options.model, at=shared.doc.resolve(options.node))
        return view_at(shared, options.node, **base), shared.doc.damage

    view, damage = read_with(options.file, look)
    for text in damage:
        say(text)
    body = {**view.request, "diagnostics": [d.model_dump(mode="json") for d in view.diagnostics]}
    if options.json:
        print_json(body)
        return 0
    if not view.request["messages"]:
        say("The model would get no message here: nothing was said up to this step.")
    for message, origin in zip(view.request["messages"], view.origin, strict=True):
        print(f"--- {message['role']}  {origin[:8]}")
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            print(block.get("text") or block)
    for item in view.diagnostics:
        print(f"{told('repaired:')} {told(item.detail)}")
    return 0


def effects_command(options: Namespace) -> int:
    def look(shared: Shared) -> tuple[str, list[EffectInfo], list[EffectInfo]]:
        uid = shared.doc.resolve(options.at)
        return uid, *EffectList(shared).split(uid)

    uid, here, elsewhere = read_with(options.file, look)
    if options.json:
        print_json(
            {
                "schema": SCHEMA,
                "cursor": uid,
                "here": [e.model_dump(mode="json") for e in here],
                "elsewhere": [e.model_dump(mode="json") for e in elsewhere],
            }
        )
        return 0
    for title, effects in (("On this branch", here), ("On other branches, still in effect", elsewhere)):
        print(f"{told(title)}: {'' if effects else told('nothing')}")
        for effect in effects:
            done = effect.status in ("undone", "countered")
            state = effect.status if done else _REVERSIBILITY[effect.reversibility]
            print(f"  {told(effect.summary)} · {told(state)} · {told(_EVIDENCE[effect.evidence])}")
    return 0
