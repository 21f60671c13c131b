"""Answers about what is in the session. Nothing here changes it."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from worldline.agent.stops import offers_for
from worldline.core import paths
from worldline.core.errors import BadInput
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import Body, BranchInfo, Diagnostic, Header, NodeLabels, RunInfo
from worldline.provider import prices
from worldline.session.model import Record, RunRecord

_MAX_BODIES = 2_000
_SLICE = 2_000
"""Headers that are read before others have their turn."""
_SLICE_S = 0.01
"""How long one piece of a long answer may keep the loop to itself."""


def run_info(run: RunRecord) -> RunInfo:
    return RunInfo(
        uid=run.uid,
        prompt=run.prompt,
        started=run.started,
        ended=run.ended,
        stop_reason=run.stop_reason.value if run.stop_reason else "",
        detail=run.detail,
        api_said=run.api_said,
        mode=run.settings.get("mode") or "ask",
        model=str(run.settings.get("model", "")),
        usage=run.usage,
        offers=offers_for(run.stop_reason) if run.stop_reason else [],
    )


def diagnostic(record: Record) -> Diagnostic:
    data = record.data
    return Diagnostic(
        id=record.seq, kind=str(data.get("kind", "")), node=record.node, run=record.run, at=record.at,
        detail=str(data.get("detail", "")), data=data.get("data", {}),
    )  # fmt: skip


class Queries:
    def __init__(self, shared: Shared, waiting: Callable[[], Collection[str]] = tuple) -> None:
        """`waiting`: the nodes whose calls wait for the person; that is stored nowhere."""
        self._shared = shared
        self._waiting = waiting

    async def headers(self, p: c.HeadersSince) -> c.Headers:
        """In slices: a running answer goes on between them."""
        doc = self._shared.doc
        left, since = min(p.limit, 100_000), p.since
        found: list[Header] = []
        while left > 0:
            rows = doc.headers(since, min(left, _SLICE))
            found += [self._header(r) for r in rows]
            if len(rows) < min(left, _SLICE):
                break
            left, since = left - len(rows), rows[-1].seq
            await asyncio.sleep(0)
        return c.Headers(headers=found, cursor=doc.cursor)

    def _header(self, row: NodeHeader) -> Header:
        header = Header.of(row)
        if row.outcome is Outcome.RUNNING and row.uid in self._waiting():
            header.outcome = Outcome.WAITING.value
        return header

    def bodies(self, p: c.Nodes) -> c.Bodies:
        if len(p.nodes) > _MAX_BODIES:
            raise BadInput(f"At most {_MAX_BODIES} nodes at once.", "Ask in parts.")
        found = []
        for body in self._shared.doc.bodies_of(p.nodes):
            call = body.detail.get("call")
            if call is not None:
                call = {**call, "repairs": body.end_detail.get("repairs", body.detail.get("repairs", []))}
            detail = {k: v for k, v in body.detail.items() if k != "call"} | body.end_detail
            message = body.end_message if body.kind is NodeKind.TOOL else body.message
            found.append(Body(uid=body.uid, kind=body.kind.value, message=message, call=call, detail=detail))
        return c.Bodies(bodies=found)

    def blob(self, p: c.BlobRef) -> c.Blob:
        limit = min(p.limit, 8_000_000)
        found, total = b"", 0
        for name in p.hash.split("+"):
            size = self._shared.doc.blob_size(name)
            start = max(0, p.offset - total)
            if start < size and len(found) < limit:
                found += self._shared.doc.blob(name)[start : start + limit - len(found)]
            total += size
        return c.Blob(data=base64.b64encode(found).decode(), total=total)

    async def search(self, p: c.Search) -> c.SearchResult:
        limit = max(1, min(p.limit, 2_000))
        if p.scope == "session":
            found = self._shared.doc.search(p.text, limit + 1)
        else:
            from worldline.session.catalog import search_sessions

            # Reads every session file: on a thread, or a running answer would stand still meanwhile.
            found = await asyncio.to_thread(
                lambda: list(search_sessions(paths.sessions_dir(), p.text, limit + 1))
            )
        hits = [
            c.SearchHit(session=h.session, uid=h.uid, seq=h.seq, kind=h.kind, snippet=h.snippet)
            for h in found[:limit]
        ]
        return c.SearchResult(hits=hits, more=len(found) > limit)

    def labels(self) -> c.Labels:
        return c.Labels(
            labels=[
                NodeLabels(node=uid, label=m.label, note=m.note, bookmark=m.bookmark, color=m.color)
                for uid, m in self._shared.doc.marks().items()
            ]
        )

    def diagnostics(self, p: c.DiagnosticsSince) -> c.Diagnostics:
        return c.Diagnostics(items=[diagnostic(r) for r in self._shared.doc.records("diagnostic", p.since)])

    def runs(self) -> c.Runs:
        return c.Runs(runs=[run_info(r) for r in self._shared.doc.runs()])

    def usage(self, p: c.UsageFor) -> c.UsageResult:
        doc = self._shared.doc
        uid = doc.resolve(p.node or "cursor")
        run = doc.header(uid).run
        return c.UsageResult(
            node=doc.usage(uid),
            branch=doc.usage_of_path(uid),
            session=doc.usage_total(),
            run=next((r.usage for r in doc.runs() if r.uid == run), Usage()),
            prices_as_of=prices.load().as_of,
        )

    async def export(self, p: c.Export) -> c.ExportResult:
        from worldline.engine.bundle import export

        place = Path(p.out) if p.out else None
        out = await asyncio.to_thread(export, self._shared.doc.path, p.format, place, p.node)
        return c.ExportResult(path=str(out), bytes=out.stat().st_size)

    async def branches(self) -> c.Branches:
        """One entry for each leaf: where it left the others, how its last run ended. In slices, like `headers`."""
        doc = self._shared.doc
        tree = doc.tree
        ends = {r.uid: r for r in doc.runs()}
        found = []
        began = time.monotonic()
        for leaf in tree.leaves():
            if time.monotonic() - began > _SLICE_S:
                await asyncio.sleep(0)
                began = time.monotonic()
            path = tree.path(leaf)
            fork = next((seq for seq in reversed(path[:-1]) if tree.child_count(seq) > 1), path[0])
            own = path[path.index(fork) + 1 :] or path
            prompt = next((seq for seq in own if tree.kind(seq) is NodeKind.USER), leaf)
            header, title = doc.headers_of([leaf])[0], doc.headers_of([prompt])[0].preview
            run = ends.get(header.run)
            reason = run.stop_reason if run and run.stop_reason else None
            found.append(
                BranchInfo(
                    leaf=header.uid,
                    fork_point=doc.uid(fork),
                    git_branch=header.branch,
                    title=title,
                    outcome=(reason.outcome if reason else header.outcome).value,
                    stop_reason=reason.value if reason else "",
                    nodes=len(own),
                    updated=header.finished or header.created,
                )
            )
        return c.Branches(branches=found)

    def attempt(self, leaf: str, ancestor: str) -> dict[str, Any]:
        """What Compare shows of one path, without its files."""
        doc = self._shared.doc
        tree = doc.tree
        top = doc.seq(ancestor)
        own = [seq for seq in tree.path(doc.seq(leaf)) if seq > top and tree.is_ancestor(top, seq)]
        headers = doc.headers_of(own)
        uids = [h.uid for h in headers]
        runs = {h.run for h in headers if h.run}
        records = [r for r in doc.runs() if r.uid in runs]
        last = records[-1] if records else None
        reason = last.stop_reason if last and last.stop_reason else StopReason.UNKNOWN
        # A step in the middle of a run: how that run ended is not how this path does.
        goes_on = last is not None and any(
            h.run == last.uid for h in doc.headers_of(tree.children(doc.seq(leaf)))
        )
        diagnostics = [r for r in doc.records("diagnostic") if r.run in runs]
        checks: dict[str, dict[str, Any]] = {}
        for body in doc.bodies_of([h.uid for h in headers if h.kind is NodeKind.TOOL]):
            check = body.end_detail.get("check")
            if isinstance(check, dict):
                checks[str(check.get("command", ""))] = {**check, "node": body.uid}
        return {
            "leaf": leaf,
            "title": next((h.preview for h in headers if h.kind is NodeKind.USER), headers[-1].preview if headers else ""),
            "outcome": "" if goes_on else reason.outcome.value,
            "stop_reason": reason.value if last and not goes_on else "",
            "steps": len(headers),
            "checks": list(checks.values()),
            "usage": doc.usage_of(uids) if uids else Usage(),
            "seconds": sum(max(0, r.ended - r.started) for r in records) / 1000,
            "retries": sum(d.data.get("kind") == "retry" for d in diagnostics),
            "fallbacks": sum(d.data.get("kind") == "fallback" and not d.data["data"].get("back") for d in diagnostics),
            "path": uids,
            "note": doc.marks()[leaf].note if leaf in doc.marks() else "",
        }  # fmt: skip
