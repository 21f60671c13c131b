"""The whole session as one HTML page: the tree at the left, the chosen branch at the right. No server, no network."""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

from worldline.core.jsontext import dumps
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session.export.markdown import node_parts
from worldline.session.reader import SessionReader

_GLYPHS = {
    NodeKind.USER: "●", NodeKind.IMPORTED_USER: "●", NodeKind.ASSISTANT: "◦", NodeKind.IMPORTED_ASSISTANT: "◦",
    NodeKind.TOOL: "▣", NodeKind.IMPORTED_TOOL: "▣", NodeKind.COMPACTION: "⇲", NodeKind.IMPORTED_COMPACTION: "⇲",
}  # fmt: skip
_CHUNK = 500

_STYLE = """
:root{--bg:#FBFBFA;--panel:#FFFFFF;--line:#E4E4E1;--text:#1D1F23;--muted:#62676F;--accent:#2F6FDE;--ok:#1E7F4F;--bad:#C0362C;--warn:#9A6200}
@media (prefers-color-scheme:dark){:root{--bg:#16181C;--panel:#1C1F24;--line:#2C3038;--text:#E6E7EA;--muted:#9AA1AC;--accent:#6AA5FF;--ok:#58C28B;--bad:#FF8077;--warn:#E7B04B}}
*{box-sizing:border-box}body{margin:0;display:flex;height:100vh;background:var(--bg);color:var(--text);font:14px/1.5 system-ui,sans-serif}
nav{width:34%;min-width:220px;overflow:auto;border-right:1px solid var(--line);padding:12px 0;font-size:13px}
nav a{display:block;padding:1px 12px;color:var(--text);text-decoration:none;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
nav a.on{font-weight:600}nav a:focus-visible,nav a.here{outline:2px solid var(--accent);outline-offset:-2px}
nav a.failed,nav a.denied{color:var(--bad)}nav a.stopped,nav a.interrupted{color:var(--warn)}nav a.off{color:var(--muted)}
main{flex:1;overflow:auto;padding:16px 32px}article{max-width:820px;background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:4px 16px;margin:0 0 12px}
h1{font-size:18px}h2{font-size:13px;color:var(--muted);margin:12px 0 4px}pre{background:var(--bg);padding:8px;overflow:auto;border-radius:6px;max-height:420px}
"""
_SCRIPT = """
const P=JSON.parse(document.getElementById('parents').textContent),nav=document.querySelector('nav'),main=document.querySelector('main');
function show(i){const path=new Set();for(let n=i;n>=0;n=P[n])path.add(n);
for(const a of nav.querySelectorAll('a')){const n=+a.dataset.n;a.classList.toggle('on',path.has(n));a.classList.toggle('off',!path.has(n));a.classList.toggle('here',n===i)}
for(const s of main.querySelectorAll('article'))s.hidden=!path.has(+s.dataset.n);
const at=main.querySelector('article[data-n="'+i+'"]');if(at)at.scrollIntoView({block:'nearest'})}
nav.addEventListener('click',e=>{const a=e.target.closest('a');if(a){e.preventDefault();show(+a.dataset.n);history.replaceState(null,'','#'+a.dataset.n)}});
show(location.hash?+location.hash.slice(1):+document.body.dataset.cursor);
"""


def page(session: SessionReader) -> str:
    """The page as text. Everything of the session is escaped: nothing in it can run."""
    renderer = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Links of a transcript must not be followed by accident, and may carry scripts.
    renderer.disable(["link", "image", "autolink"])
    headers = session.headers()
    depth = _depths([h.parent for h in headers])
    rows, articles = [], []
    for start in range(0, len(headers), _CHUNK):
        part = headers[start : start + _CHUNK]
        for header, body in zip(part, session.bodies_of([h.uid for h in part]), strict=True):
            number = header.seq - 1
            if header.flags & NodeFlag.HIDDEN or header.kind is NodeKind.ROOT:
                continue
            glyph = _GLYPHS.get(header.kind, "·")
            text = escape(header.preview or header.kind.value)
            rows.append(
                f'<a href="#{number}" data-n="{number}" class="{escape(header.outcome.value)}"'
                f' style="padding-left:{12 + 12 * min(depth[number], 20)}px">{glyph} {text}</a>'
            )
            content = renderer.render("\n\n".join(p for p in node_parts(body) if p))
            if content:
                articles.append(f'<article data-n="{number}">{content}</article>')
    cursor = session.header(session.cursor).seq - 1 if session.cursor else 0
    title = escape(session.info()["title"] or "Session")
    parents = dumps([h.parent - 1 for h in headers]).decode()
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';"
        " script-src 'unsafe-inline'\">"
        f'<style>{_STYLE}</style></head><body data-cursor="{cursor}"><nav aria-label="Tree">{"".join(rows)}</nav>'
        f"<main><h1>{title}</h1>{''.join(articles)}</main>"
        f'<script type="application/json" id="parents">{parents}</script><script>{_SCRIPT}</script></body></html>'
    )


def _depths(parents: list[int]) -> list[int]:
    """Indent of each node: one more for each fork above it, so that a long run stays a straight line."""
    children: dict[int, int] = {}
    for parent in parents:
        children[parent] = children.get(parent, 0) + 1
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent == 0 else depth[parent - 1] + (1 if children[parent] > 1 else 0))
    return depth
