"""What the world sends (pages, pictures, documents, schemas, addresses, odd paths) is never taken for a defect of ours:
each of it is a result that the model can go on from."""

from __future__ import annotations

import asyncio
import io
import os
import random
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests_support import PATIENCE_S
from toolbench import Bench, error_of, text_of
from worldline.tools.mcp_client import McpServer, McpTool
from worldline.tools.mcp_config import ServerConfig
from worldline.tools.registry import default_tools
from worldline.tools.schema import schema_problem, tidy


class _Pages(BaseHTTPRequestHandler):
    routes: dict[str, tuple[int, str, bytes]] = {}
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        code, kind, body = self.routes[self.path]
        self.send_response(code)
        self.send_header("Location" if code == 302 else "Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def site(serve: Callable[[type[BaseHTTPRequestHandler]], str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(_Pages, "asked", [])
    return serve(_Pages)


@pytest.mark.parametrize(
    ("kind", "body", "holds"),
    [
        ("text/html", b"<!doctype html><p>one</p><![foo[bar]]><p>last</p><![", "last"),
        ("text/html", b"<p>before</p><![foo[bar]]><p>after</p>", "before"),
        ("text/html", b"<p>before</p><![ rubbish ]><p>after</p>", "before"),
        ("text/html", b"<html><head><title>t</title><body><p>no end of the head</p>", "no end of the head"),
        ("text/plain; charset=idna", b"plain words", "plain words"),
        ("text/plain; charset=no-such", b"plain words", "plain words"),
    ],
)
async def test_a_page_that_is_not_as_it_should_be_is_read_all_the_same(
    bench: Bench, site: str, monkeypatch: pytest.MonkeyPatch, kind: str, body: bytes, holds: str
) -> None:
    monkeypatch.setattr(_Pages, "routes", {"/page": (200, kind, body)})
    outcome = await bench.call("web_fetch", url=f"{site}/page")
    assert outcome.ok and text_of(outcome).count(holds) == 1


async def test_an_error_page_that_cannot_be_parsed_is_an_http_error(
    bench: Bench, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Pages, "routes", {"/gone": (404, "text/html", b"<p>not here<![foo[bar]]>")})
    outcome = await bench.call("web_fetch", url=f"{site}/gone")
    assert error_of(outcome) == "http_error" and "not here" in text_of(outcome)


async def test_a_redirect_to_what_is_no_address_is_told(
    bench: Bench, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Pages, "routes", {"/moved": (302, "http://[half", b"")})
    assert error_of(await bench.call("web_fetch", url=f"{site}/moved")) == "invalid_url"


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "ü..example", "ü" * 70 + ".example", "a..example"])
async def test_a_host_name_that_cannot_be_one_is_refused(bench: Bench, host: str) -> None:
    assert error_of(await bench.call("web_fetch", url=f"http://{host}/")) == "invalid_url"


async def test_a_foreign_host_name_keeps_its_port(bench: Bench) -> None:
    await bench.call("web_fetch", url="http://bücher.invalid:8123/x")
    assert bench.policy.asked[-1].url == "http://xn--bcher-kva.invalid:8123/x"


@pytest.mark.parametrize("path", ["~nosuchuser/x", "~nosuchuser"])
async def test_the_home_of_somebody_unknown_is_a_wrong_path(bench: Bench, path: str) -> None:
    for tool in ("read", "write", "edit", "glob", "list_dir"):
        more = {"write": {"content": "x"}, "edit": {"old": "a", "new": "b"}, "glob": {"pattern": "*"}}
        outcome = await bench.call(tool, path=path, **more.get(tool, {}))
        assert error_of(outcome) == "path_wrong", tool
    asked = await bench.call("request_access", kind="read", target=path, why="to look")
    assert error_of(asked) == "path_wrong"


async def test_access_to_a_loop_of_links_is_a_wrong_path(bench: Bench) -> None:
    (bench.root / "loop").symlink_to("loop")
    asked = await bench.call("request_access", kind="read", target="loop", why="to look")
    assert error_of(asked) == "path_wrong"


COSTLY = r"(?=a)(a+)+$"
"""Takes for ever on a line of many a and one b."""


async def test_a_pattern_that_never_ends_does_not_hold_the_engine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.root / "a.txt").write_text("a" * 40 + "b\n")
    monkeypatch.setattr("worldline.tools.search.GREP_SECONDS", PATIENCE_S)
    assert error_of(await bench.call("grep", pattern=COSTLY)) == "pattern_too_costly"
    monkeypatch.setenv("PATH", "nowhere")  # without ripgrep
    monkeypatch.setattr("worldline.tools.search.GREP_SECONDS", 2)
    for _ in range(20):  # the whole machine may stand still for these seconds, but not each time
        search = asyncio.ensure_future(bench.call("grep", pattern=COSTLY))
        beats = 0
        while not search.done():
            await asyncio.sleep(0.02)
            beats += 1
        assert error_of(await search) == "timeout"
        if beats > 20:
            return
    pytest.fail("the loop has no turn while it searches")


@pytest.mark.parametrize("program", ["ripgrep", "none"])
async def test_patterns_that_cannot_be_one_are_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (bench.root / "a.txt").write_text("one\n")
    if program == "none":
        monkeypatch.setenv("PATH", "nowhere")
    for pattern in ("a{4294967296}", "(" * 5000, "(?<=a*)b", "a("):
        assert error_of(await bench.call("grep", pattern=pattern)) == "invalid_pattern", pattern[:20]
    for glob in ("a[", "**[!"):
        outcome = await bench.call("grep", pattern="one", glob=glob)
        assert outcome.ok or error_of(outcome) == "invalid_pattern", glob


@pytest.mark.slow
async def test_many_complaints_do_not_hold_a_search(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(280):  # more than a pipe holds
        (bench.root / f"{number:04}-{'x' * 230}.txt").write_text("a" * 40 + "b\n")
    monkeypatch.setattr("worldline.tools.search.GREP_SECONDS", 500)
    assert error_of(await bench.call("grep", pattern=COSTLY)) == "pattern_too_costly"


def pictures() -> dict[str, bytes]:
    from PIL import Image

    rng = random.Random(7)
    image = Image.new("RGB", (40, 30))
    image.putdata([(rng.randrange(256), rng.randrange(256), 0) for _ in range(1200)])
    found = {}
    for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"):
        buffer = io.BytesIO()
        image.save(buffer, form)
        found[form.lower()] = buffer.getvalue()
    return found


def document() -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for _ in range(3):
        writer.add_blank_page(100, 100)
    writer.add_metadata({"/Title": "x" * 100})
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def damaged(rng: random.Random, data: bytes) -> bytes:
    broken = bytearray(data)
    if rng.random() < 0.4:
        del broken[rng.randrange(8, len(broken)) :]
    for _ in range(rng.randrange(1, 12)):
        broken[rng.randrange(min(8, len(broken) - 1), len(broken))] = rng.randrange(256)
    return bytes(broken)


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_pictures_and_documents_are_results(bench: Bench, seed: int) -> None:
    rng = random.Random(seed)
    for suffix, data in {**pictures(), "pdf": document()}.items():
        for _ in range(40):
            (bench.root / f"a.{suffix}").write_bytes(damaged(rng, data))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = await bench.call("read", path=f"a.{suffix}")
            assert outcome.ok or error_of(outcome) in (
                "bad_image",
                "bad_pdf",
                "binary_file",
                "out_of_range",
            ), suffix


async def test_a_picture_that_is_cut_off_is_never_sent(bench: Bench) -> None:
    for suffix in ("png", "jpeg"):
        data = pictures()[suffix]
        (bench.root / f"a.{suffix}").write_bytes(data[: len(data) // 2])
        assert error_of(await bench.call("read", path=f"a.{suffix}")) == "bad_image", suffix


async def test_an_encrypted_document_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    def encrypted(self: Any, *args: Any, **more: Any) -> None:
        raise DependencyError("cryptography is required for AES algorithm")

    (bench.root / "a.pdf").write_bytes(document())
    # What the library raises where the package for the cipher is not installed.
    monkeypatch.setattr(PdfReader, "__init__", encrypted)
    assert error_of(await bench.call("read", path="a.pdf")) == "bad_pdf"


def foreign(schema: dict[str, Any], folder: Any) -> dict[str, Any]:
    server = McpServer(ServerConfig("odd", "user", "/bin/false"), folder)
    tool = SimpleNamespace(name="tool", description="", title="", input_schema=schema)
    made = McpTool(server, tool)
    return {made.name: made}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.invalid/schema"},
        {"properties": {"a": {"type": "string", "pattern": "("}}},
        {"properties": {"a": {"type": "no-such-type"}}},
        {"properties": ["a"]},
        {"required": 7},
        {"properties": {"a": {"enum": 3}}},
        {"anyOf": {"a": 1}},
    ],
)
def test_a_schema_that_makes_no_sense_is_named(schema: dict[str, Any]) -> None:
    assert schema_problem(schema)


def test_a_schema_without_a_floor_is_named() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"not": deep}
    assert "too deeply" in schema_problem(deep)
    level: dict[str, Any] = {}
    for _ in range(400):
        level = {"not": level}
    assert isinstance(schema_problem(level), str)
    while deep:  # one after the other: letting go of all at once needs as deep a stack
        deep = deep["not"]


def test_usual_schemas_are_fine() -> None:
    for schema in ({}, {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}},
                   {"definitions": {"a/b": {}}, "properties": {"p": {"$ref": "#/definitions/a~1b"}}}):  # fmt: skip
        assert schema_problem(schema) == ""
    for tool in default_tools().values():
        assert schema_problem(tool.schema()) == ""


def test_references_of_older_schemas_reach_the_model() -> None:
    old = {"properties": {"p": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "integer"}}}
    assert tidy(old)["properties"] == {"p": {"type": "integer"}}


async def test_a_schema_that_refers_to_itself_is_the_servers_fault(
    make_bench: Callable[..., Bench], tmp_path: Any
) -> None:
    bench = make_bench(tools=foreign({"$ref": "#"}, tmp_path))
    assert error_of(await bench.call("odd__tool", a="x")) == "bad_schema"


async def test_a_schema_never_makes_us_fetch_anything(
    make_bench: Callable[..., Bench], tmp_path: Any, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Pages, "routes", {"/schema": (200, "application/json", b"{}")})
    bench = make_bench(tools=foreign({"properties": {"a": {"$ref": f"{site}/schema"}}}, tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = await bench.call("odd__tool", a="x")
    assert _Pages.asked == [] and error_of(outcome) == "bad_schema"


def searching(bench: Bench, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """In the place of ripgrep."""
    program = bench.root / "programs" / "rg"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("tool", ["grep", "glob"])
@pytest.mark.parametrize("script", ["#!/bin/sh\nkill -9 $$\n", "#!/no/such/program\n"])
async def test_a_search_that_the_system_ends_is_a_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str, script: str
) -> None:
    """As where there is no memory left. It ended the whole run, or was said to have taken too long."""
    searching(bench, monkeypatch, script)
    outcome = await bench.call(tool, pattern="one")
    assert error_of(outcome) == "search_failed"
    assert ("signal 9" if "kill" in script else "could not be started") in text_of(outcome)


async def test_a_search_of_our_own_that_the_system_ends_is_a_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bench.root / "a.txt").write_text("a" * 40 + "b\n")
    monkeypatch.setenv("PATH", "nowhere")  # without ripgrep
    monkeypatch.setattr("worldline.tools.search.GREP_SECONDS", PATIENCE_S)
    search = asyncio.ensure_future(bench.call("grep", pattern=COSTLY))
    (await helpers_of_this()).pop().kill()
    assert error_of(await search) == "search_failed"


SLEEPS = "1000.25"
"""As long as no other test sleeps."""


def searches(process: psutil.Process) -> bool:
    try:
        return bool({SLEEPS, "worldline.tools.pygrep"} & {*process.cmdline()})
    except psutil.Error:
        return False


async def helpers_of_this() -> list[psutil.Process]:
    """The programs that search for us, once there is one."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := [one for one in psutil.Process().children() if searches(one)]):
            await asyncio.sleep(0.01)
        return found


@pytest.mark.parametrize("tool", ["grep", "glob"])
async def test_a_stopped_search_leaves_nothing_that_searches(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    searching(bench, monkeypatch, f"#!/bin/sh\nexec sleep {SLEEPS}\n")
    search = asyncio.ensure_future(bench.call(tool, pattern="one"))
    (helper,) = await helpers_of_this()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await asyncio.to_thread(helper.wait, PATIENCE_S)
