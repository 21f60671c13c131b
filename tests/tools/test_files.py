"""read, write, edit, multi_edit on real files."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import threading
from pathlib import Path

import pytest

from tests_support import PATIENCE_S
from toolbench import Bench, error_of, text_of

EDITS: list[tuple[str, bytes, str, str, bytes]] = [
    ("crlf", b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
    ("crlf, one line", b"a\r\nb\r\n", "b", "p\nq", b"a\r\np\r\nq\r\n"),
    ("latin-1 elsewhere", b"caf\xe9 = 1\nx = 2\n", "x = 2", "x = 3", b"caf\xe9 = 1\nx = 3\n"),
    ("latin-1 here", b"caf\xe9 = 1\n", "café = 1", "café = 2", b"caf\xe9 = 2\n"),
    ("blanks at the line end", b"a  \nb\n", "a\nb", "a\nc", b"a  \nc\n"),
    ("replacement signs", b"p = $1\n", "p = $1", r"p = \1 $& \g<0>", b"p = \\1 $& \\g<0>\n"),
    ("no-break space", "a\u00a0b c\n".encode(), "a b c", "a b d", "a\u00a0b d\n".encode()),
    ("dash", "x — y\n".encode(), "x - y", "x - z", "x — z\n".encode()),
    ("new curly quotes are kept", "it's “so”\n".encode(), 'it\'s "so"', "it's “so” – ok", "it's “so” – ok\n".encode()),
    ("decomposed letters", "cafe\u0301 1\n".encode(), "café 1", "café 2", "cafe\u0301 2\n".encode()),
    ("utf-16", "uä x\n".encode("utf-16"), "x", "y", "uä y\n".encode("utf-16")),
    ("no newline at the end", b"last", "last", "end", b"end"),
    ("indentation by tabs", b"\tfoo()\n\tbar()\n", "    foo()\n    bar()", "    foo()\n    if x:\n        bar()", b"\tfoo()\n\tif x:\n\t\tbar()\n"),
    ("shifted indentation", b"    if x:\n        y()\n", "if x:\n    y()\n", "if x:\n    z()\n", b"    if x:\n        z()\n"),
    ("delete", b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "old", "new", "after"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS]
)
async def test_edit_changes_what_it_means_and_nothing_else(
    bench: Bench, before: bytes, old: str, new: str, after: bytes
) -> None:
    (bench.root / "f").write_bytes(before)
    outcome = await bench.call("edit", path="f", old=old, new=new)
    assert outcome.ok, text_of(outcome)
    assert (bench.root / "f").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "old", "new", "error"),
    [
        (b"a\n", "b", "c", "no_match"),
        (b"a\na\n", "a", "c", "ambiguous_match"),
        (b"a\n", "a", "a", "no_change"),
        (b"a\n", "", "x", "invalid_arguments"),
        (b"caf\xe9\nx\n", "x", "€", "not_encodable"),
        (b"\x00\x01\x02" * 99, "a", "b", "binary_file"),
        (b"import a\nimport b\n", "import a", "import a\nimport b", "already_applied"),
        (b"x=1\n", "x = 1", "x = 2", "no_match"),
        (b"key=\n", "key=", "key=[masked: token]", "masked_text"),
    ],
)
async def test_edit_refuses_without_touching(
    bench: Bench, before: bytes, old: str, new: str, error: str
) -> None:
    (bench.root / "f").write_bytes(before)
    outcome = await bench.call("edit", path="f", old=old, new=new)
    assert error_of(outcome) == error
    assert (bench.root / "f").read_bytes() == before


async def test_the_nearest_lines_come_with_their_blanks(bench: Bench) -> None:
    (bench.root / "f").write_text("def f(a):\n\tvalue = a + 1\n\treturn value\n")
    outcome = await bench.call("edit", path="f", old="  value = a + 2\n  return val", new="x")
    assert "2  →value = a + 1" in text_of(outcome)


async def test_multi_edit_is_all_or_nothing(bench: Bench) -> None:
    (bench.root / "f").write_text("a\nb\n")
    bad = await bench.call(
        "multi_edit", path="f", edits=[{"old": "a", "new": "x"}, {"old": "nope", "new": "y"}]
    )
    assert error_of(bad) == "no_match" and "edits.1" in text_of(bad)
    assert (bench.root / "f").read_text() == "a\nb\n"
    good = await bench.call(
        "multi_edit", path="f", edits='[{"old_string": "a", "new_string": "x"}, {"old": "x\\nb", "new": "y"}]'
    )
    assert good.ok and good.repairs
    assert (bench.root / "f").read_text() == "y\n"


async def test_an_edit_of_a_stale_file_says_what_changed(bench: Bench) -> None:
    path = bench.root / "f"
    path.write_text("one\ntwo\n")
    await bench.call("read", path="f")
    path.write_text("one\nzwei\n")
    outcome = await bench.call("edit", path="./f", old="one", new="eins")
    assert error_of(outcome) == "stale_file" and "+zwei" in text_of(outcome)
    await bench.call("read", path="f")
    assert (await bench.call("edit", path="f", old="one", new="eins")).ok
    os.utime(path, (1, 1))  # touched, same content
    assert (await bench.call("edit", path="f", old="eins", new="uno")).ok
    path.unlink()
    assert error_of(await bench.call("edit", path="f", old="uno", new="x")) == "stale_file"


async def test_links_inside_survive(bench: Bench) -> None:
    (bench.root / "real").write_text("a\n")
    (bench.root / "link").symlink_to("real")
    assert (await bench.call("edit", path="link", old="a", new="b")).ok
    assert (await bench.call("write", path="link", content="c\n")).ok
    assert (bench.root / "link").is_symlink() and (bench.root / "real").read_text() == "c\n"


async def test_write_keeps_encoding_and_tells_what_it_replaced(bench: Bench) -> None:
    (bench.root / "f").write_bytes(b"\xef\xbb\xbfold\n")
    outcome = await bench.call("write", path="f", content="new\n")
    assert (bench.root / "f").read_bytes() == b"\xef\xbb\xbfnew\n" and "had not read" in text_of(outcome)
    assert (await bench.call("write", path="deep/er/x", content="")).ok
    assert error_of(await bench.call("write", path="f/x", content="")) == "path_wrong"
    assert error_of(await bench.call("write", path="deep", content="")) == "is_a_directory"
    assert error_of(await bench.call("write", path="a\x00b", content="")) == "invalid_path"
    assert error_of(await bench.call("write", path="n" * 300, content="")) == "path_wrong"
    leftovers = list(bench.root.rglob("*.tmp"))
    assert leftovers == []


async def test_read_ranges_and_encodings(bench: Bench) -> None:
    (bench.root / "f").write_text("".join(f"line {n}\n" for n in range(1, 3001)))
    first = await bench.call("read", path="f")
    assert "go on with offset 2001" in text_of(first) and not bench.state.files["f"].whole
    part = await bench.call("read", path="f", offset="2999")
    assert text_of(part).endswith("2999\tline 2999\n  3000\tline 3000")
    assert error_of(await bench.call("read", path="f", offset=4000)) == "out_of_range"
    (bench.root / "latin").write_bytes("Stra\xdfe, gr\xfc\xdfe, f\xfcr, \xfcber\n".encode("latin-1"))
    assert "Straße" in text_of(await bench.call("read", path="latin"))
    (bench.root / "empty").write_text("")
    assert "is empty" in text_of(await bench.call("read", path="empty"))
    (bench.root / "long").write_text("x" * 100_000)
    assert len(text_of(await bench.call("read", path="long"))) < 5000


async def test_read_of_other_kinds(bench: Bench) -> None:
    from PIL import Image
    from pypdf import PdfWriter

    buffer = io.BytesIO()
    Image.new("RGB", (4000, 10), "red").save(buffer, "PNG")
    (bench.root / "a.png").write_bytes(buffer.getvalue())
    block = (await bench.call("read", path="a.png")).block["content"][1]
    with Image.open(io.BytesIO(base64.b64decode(block["source"]["data"]))) as image:
        assert image.size[0] <= 1568 and block["source"]["media_type"] in ("image/jpeg", "image/png")
    (bench.root / "bad.png").write_bytes(buffer.getvalue()[:60])
    assert error_of(await bench.call("read", path="bad.png")) == "bad_image"
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    with (bench.root / "a.pdf").open("wb") as file:
        writer.write(file)
    assert "page 1" in text_of(await bench.call("read", path="a.pdf"))
    assert error_of(await bench.call("read", path="a.pdf", pages="7")) == "out_of_range"
    (bench.root / "bad.pdf").write_bytes(b"%PDF-1.4 rubbish")
    assert error_of(await bench.call("read", path="bad.pdf")) == "bad_pdf"
    book = {"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": [{"text": ["one"]}]}]}
    (bench.root / "a.ipynb").write_text(json.dumps(book))
    assert "[cell 0: code]\nx = 1" in text_of(await bench.call("read", path="a.ipynb"))
    (bench.root / "prog").write_bytes(b"\x7fELF" + bytes(200))
    assert "ELF" in text_of(await bench.call("read", path="prog"))
    os.mkfifo(bench.root / "pipe")
    assert error_of(await bench.call("read", path="pipe")) == "not_a_regular_file"
    assert error_of(await bench.call("read", path=".")) == "is_a_directory"


async def test_a_missing_file_names_what_is_there(bench: Bench) -> None:
    (bench.root / "src").mkdir()
    (bench.root / "src" / "Config.py").write_text("")
    for wrong in ("config.py", "src/confg.py", "Src/Config.py", str(bench.root / "config.py")):
        outcome = await bench.call("read", path=wrong)
        assert error_of(outcome) == "file_not_found"
        assert "src/Config.py" in text_of(outcome) and str(bench.root) not in text_of(outcome)


async def test_search(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.root / ".gitignore").write_text("ignored/\n")
    for name in ("a.py", "sub/b.py", "ignored/c.py", ".hidden/d.py", ".git/e.py"):
        path = bench.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x = 1\nneedle(here)\n")
    for where in (None, "nowhere"):
        if where:
            monkeypatch.setenv("PATH", where)  # without ripgrep
        found = text_of(await bench.call("glob", pattern="*.py")).split("\n")
        assert sorted(found) == [".hidden/d.py", "a.py", "sub/b.py"]
        assert text_of(await bench.call("glob", pattern="sub/*.py")) == "sub/b.py"
        assert text_of(await bench.call("grep", pattern="needle", glob="a.py")) == "a.py:2:needle(here)"
        assert "a.py:2:needle(here)" in text_of(await bench.call("grep", pattern=r"(?<=nee)dle"))
        assert "a.py-1-x = 1" in text_of(await bench.call("grep", pattern="needle", path="a.py", context=1))
        assert error_of(await bench.call("grep", pattern="needle(")) == "invalid_pattern"
        assert "No match" in text_of(await bench.call("grep", pattern="nothing_like_it"))
        assert "there are more" in text_of(await bench.call("grep", pattern=".", limit=1))
    assert ".git/" in text_of(await bench.call("list_dir"))
    assert error_of(await bench.call("list_dir", path="a.py")) == "not_a_directory"
    assert error_of(await bench.call("glob", pattern="*", path="nope")) == "file_not_found"


async def test_a_read_only_file_is_not_replaced(bench: Bench, tmp_path: Path) -> None:
    path = bench.root / "f"
    path.write_text("a\n")
    path.chmod(0o444)
    outcome = await bench.call("edit", path="f", old="a", new="b")
    if os.geteuid() == 0:
        assert outcome.ok and oct(path.stat().st_mode)[-3:] == "444"
    else:
        assert error_of(outcome) == "permission_denied"


@pytest.mark.parametrize(
    ("tool", "fields"), [("write", {"content": "new\n"}), ("edit", {"old": "old", "new": "new"})]
)
async def test_a_cancelled_write_is_over_before_anything_else_happens(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str, fields: dict[str, str]
) -> None:
    """The files are captured, or put back, right after a call was stopped: nothing may be written behind that."""
    (bench.root / "f.txt").write_text("old\n")
    reached, disk = threading.Event(), threading.Event()
    replace = Path.replace

    def slow(self: Path, target: Path) -> Path:
        reached.set()
        disk.wait(PATIENCE_S)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", slow)  # a disk that takes its time
    call = asyncio.ensure_future(bench.call(tool, path="f.txt", **fields))
    await asyncio.to_thread(reached.wait, PATIENCE_S)
    call.cancel()
    done, _ = await asyncio.wait([call], timeout=0.2)
    assert not done, "it was given up while its file was still being written"
    disk.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (bench.root / "f.txt").read_text() == "new\n"


async def test_a_reader_sees_the_old_file_or_the_new_one(bench: Bench) -> None:
    path = bench.root / "f.txt"
    texts = [sign * 2_000_000 for sign in "ab"]
    path.write_text(texts[0])
    seen: set[bytes] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            data = path.read_bytes()
            seen.add(data[:1] + data[-1:] + str(len(data)).encode())

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(1, 9):
        assert (await bench.call("write", path="f.txt", content=texts[number % 2])).ok
    over.set()
    watcher.join()
    assert seen <= {b"aa2000000", b"bb2000000"}
    assert sorted(p.name for p in bench.root.iterdir()) == ["f.txt"]
