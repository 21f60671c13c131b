"""plan, ask_user, memory, task, web_fetch, request_access, checks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from toolbench import Bench, error_of, text_of
from worldline.tools.checks import find_check, parse_check
from worldline.tools.task import TaskReport


async def test_plan_and_questions(bench: Bench) -> None:
    outcome = await bench.call("plan", todos=[{"content": "a", "status": "done"}, {"text": "b"}])
    assert outcome.ok and bench.state.plan == [
        {"text": "a", "status": "done"},
        {"text": "b", "status": "pending"},
    ]
    assert error_of(await bench.call("plan", steps=["a"])) == "invalid_arguments"
    bench.answers = ["yes", " "]
    assert "yes" in text_of(await bench.call("ask_user", question="Go on?", choices="yes"))
    assert error_of(await bench.call("ask_user", question="Go on?")) == "no_answer"


async def test_memory(bench: Bench) -> None:
    assert error_of(await bench.call("memory", action="list")) == "no_memory"
    folder = bench.root.parent / "notes"
    bench.services["memory_dir"] = folder
    assert "no notes" in text_of(await bench.call("memory", action="list"))
    assert (await bench.call("memory", action="write", name="build", content="use make")).ok
    assert "what you observe now wins" in text_of(await bench.call("memory", action="read", name="build"))
    bench.answers = ["Keep the old note", "Add the new text to it", "Replace it"]
    assert (
        error_of(await bench.call("memory", action="write", name="Build", content="use ninja"))
        == "name_conflict"
    )
    assert (await bench.call("memory", action="write", name="build", content="use ninja")).ok
    assert (folder / "build.md").read_text() == "use make\nuse ninja\n"
    assert (await bench.call("memory", action="write", name="build", content="x\n" * 199)).ok
    long = await bench.call("memory", action="append", name="build", content="y\ny\ny")
    assert error_of(long) == "note_too_long" and "Split" in text_of(long)
    assert error_of(await bench.call("memory", action="read", name="biuld")) == "no_such_note"
    assert (
        error_of(await bench.call("memory", action="write", name="../x", content="x")) == "invalid_arguments"
    )
    bench.services["memory_dir"] = bench.root / "file" / "below"
    (bench.root / "file").write_text("")
    assert error_of(await bench.call("memory", action="write", name="x", content="x")) == "path_wrong"


@pytest.mark.parametrize(
    ("report", "error", "says"),
    [
        (TaskReport("I fixed it.", diff="+x", files=["a.py"]), "", "a.py"),
        (TaskReport("I fixed it."), "", "changed no file"),
        (TaskReport("  "), "empty_report", "without saying anything"),
        (TaskReport("half", "max_turns", "10 turns"), "task_failed", "max_turns"),
    ],
)
async def test_sub_agents(bench: Bench, report: TaskReport, error: str, says: str) -> None:
    async def service(prompt: str, title: str, seconds: float) -> TaskReport:
        return report

    bench.services["task"] = service
    outcome = await bench.call("task", prompt="fix it")
    assert error_of(outcome) == error and says in text_of(outcome)


async def test_a_sub_agent_that_takes_too_long_is_stopped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert error_of(await bench.call("task", prompt="x")) == "no_sub_agents"
    stopped = asyncio.Event()

    async def service(prompt: str, title: str, seconds: float) -> TaskReport:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()
        return TaskReport("")

    bench.services["task"] = service
    monkeypatch.setattr("worldline.tools.task.GRACE_S", 0.0)
    assert error_of(await bench.call("task", prompt="x", timeout_s=0.05)) == "timeout" and stopped.is_set()


class _Site(BaseHTTPRequestHandler):
    busy = 2

    def do_GET(self) -> None:
        routes = {"/moved": (302, "/page"), "/away": (301, "http://other.example/"), "/loop": (302, "/loop")}
        if self.path in routes:
            code, target = routes[self.path]
            self.send_response(code)
            self.send_header("Location", target)
            self.end_headers()
            return
        code = 200
        if self.path == "/busy" and _Site.busy:
            _Site.busy -= 1
            code = 503
        bodies = {
            "/page": b"<html><head><style>x</style></head><body><h1>T</h1><p>a &amp; b</p></body></html>",
            "/bin": bytes(999),
        }
        if self.path not in bodies and self.path != "/busy":
            code = 404
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8" if self.path == "/page" else "text/plain")
        self.end_headers()
        self.wfile.write(bodies.get(self.path, b"said so"))

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def site(serve: Callable[[type[BaseHTTPRequestHandler]], str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(_Site, "busy", 2)
    return serve(_Site)


async def test_web_fetch(bench: Bench, site: str) -> None:
    page = text_of(await bench.call("web_fetch", url=f"{site}/moved"))
    assert "# T" in page and "a & b" in page and "redirected from" in page
    away = await bench.call("web_fetch", url=f"{site}/away")
    assert error_of(away) == "redirect" and "http://other.example/" in text_of(away)
    assert error_of(await bench.call("web_fetch", url=f"{site}/loop")) == "redirect_loop"
    assert error_of(await bench.call("web_fetch", url=f"{site}/none")) == "http_error"
    assert error_of(await bench.call("web_fetch", url=f"{site}/bin")) == "binary_file"
    again = await bench.call("web_fetch", url=f"{site}/busy")
    assert again.ok and len(again.attempts) == 2
    assert error_of(await bench.call("web_fetch", url="http://127.0.0.1:9/")) == "retries_exhausted"
    for wrong in ("file:///etc/passwd", "ftp://a/b", "http://", "http://u:p@h/", "no address", "http://a b/"):
        assert error_of(await bench.call("web_fetch", url=wrong)) == "invalid_url"


async def test_request_access(bench: Bench) -> None:
    inside = await bench.call("request_access", kind="write", target="a.txt", why="x")
    assert error_of(inside) == "not_needed"
    assert (await bench.call("request_access", kind="net", host="example.org:443", reason="docs")).ok
    assert bench.policy.asked[-1].target == "net:example.org:443"


@pytest.mark.parametrize(
    ("command", "output", "passed", "failed"),
    [
        ("pytest -q", "3 failed, 10 passed, 1 error in 1.2s", 10, 4),
        ("cd x && python -m pytest", "== 1 passed in 0.1s ==", 1, 0),
        ("npm test", "Tests:       1 failed, 5 passed, 6 total\nTest Suites: 1 failed, 2 passed", 5, 1),
        ("cargo test", "test result: ok. 5 passed; 0 failed; 0 ignored", 5, 0),
        ("go test ./...", "ok  \tpkg\t0.1s\nFAIL\tpkg2\t0.1s", 1, 1),
        ("python3 -m unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1, errors=1)", 1, 2),
        ("FOO=1 ./venv/bin/pytest", "2 passed", 2, 0),
        ("mypy .", "Found 3 errors in 2 files", None, 3),
        ("npm run lint", "", None, None),
        ("npx mocha", "  4 passing (1s)\n  2 failing", 4, 2),
        ("bundle exec rspec", "10 examples, 3 failures", 7, 3),
    ],
)
def test_checks(command: str, output: str, passed: int | None, failed: int | None) -> None:
    check = parse_check(command, output, 1)
    assert check is not None and (check.passed, check.failed) == (passed, failed)


@pytest.mark.parametrize(
    "command", ["echo pytest", "cat pytest.ini", "git log --grep pytest", "pip install pytest", "ls tests"]
)
def test_no_checks(command: str) -> None:
    assert find_check(command) == ""
