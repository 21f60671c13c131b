"""Keys go where they belong, and nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import keyring
import keyring.errors
import pytest
from keyring.backend import KeyringBackend

from provider.conftest import FAST, PATIENT, Heard, request_for
from worldline.core.errors import BadInput, ProviderError
from worldline.provider import credentials
from worldline.provider.address import is_first_party, is_loopback, normalise
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.model import Endpoint
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer

REAL = "sk-ant-api03-a-real-key-of-the-person"


class MemoryKeyring(KeyringBackend):
    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise keyring.errors.PasswordDeleteError("not there")
        del self.kept[service, username]


class LockedKeyring(MemoryKeyring):
    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked("nobody unlocks it")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.NoKeyringError("there is none")


@pytest.fixture
def memory() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def locked() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(LockedKeyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def real_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", REAL)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", REAL)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Company: {REAL}\nAuthorization: Bearer {REAL}")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", "/nonexistent")


@pytest.mark.usefixtures("real_environment")
@pytest.mark.parametrize("local", [True, False])
async def test_a_server_of_another_never_sees_the_real_key(
    local: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with RehearsalServer(Scenario.of("hi")) as server:
        gateway = Gateway(ProviderSettings(retry=FAST, limits=PATIENT, local_limits=PATIENT))
        request = request_for(server)
        request.endpoint.local = local
        answer = await gateway.ask(request, Heard())
        assert answer.failure is None
        await gateway.count_tokens(request)
        await gateway.list_models(request.endpoint)
        await gateway.test(server.base_url, "m", local=local)
        await gateway.close()
        assert len(server.requests) >= 5
        for record in server.requests:
            assert REAL not in str(record.headers), record.headers
            assert "anthropic-beta" not in record.headers
            assert "cache_control" not in str(record.body) and "thinking" not in str(record.body)
    assert REAL not in caplog.text


@pytest.mark.usefixtures("real_environment")
async def test_the_environments_own_server_gets_the_environments_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with RehearsalServer(Scenario.of("hi", key=REAL)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{server.base_url}/")
        gateway = Gateway(ProviderSettings(retry=FAST, limits=PATIENT))
        request = request_for(server)
        request.endpoint.local = False
        assert (await gateway.ask(request, Heard())).failure is None
        await gateway.close()


async def test_a_given_key_is_used_for_its_server_only(memory: MemoryKeyring) -> None:
    with RehearsalServer(Scenario.of("hi", key="theirs")) as one, RehearsalServer(Scenario.of("hi")) as two:
        credentials.store("theirs", one.base_url)
        gateway = Gateway(ProviderSettings(retry=FAST, limits=PATIENT))
        for server in (one, two):
            assert (await gateway.ask(request_as_remote(server), Heard())).failure is None
        assert two.requests[0].headers.get("authorization") is None
        gateway.settings.secrets[two.base_url] = "given"
        assert (await gateway.ask(request_as_remote(two), Heard())).failure is None
        assert two.requests[1].headers["authorization"] == "Bearer given"
        await gateway.close()


def request_as_remote(server: RehearsalServer):  # type: ignore[no-untyped-def]
    request = request_for(server)
    request.endpoint = Endpoint("m", server.base_url, local=False)
    return request


def test_the_keyring_comes_before_the_environment(
    memory: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", REAL)
    assert credentials.find() == credentials.Credential(REAL, "environment")
    credentials.store("sk-stored")
    assert credentials.find().source == "keyring" and credentials.find().secret == "sk-stored"
    assert credentials.find("https://api.anthropic.com/v1").secret == "sk-stored"
    assert credentials.find("https://other.example").source == "none"
    assert credentials.find("http://api.anthropic.com").source == "none", "never over plain HTTP"
    assert credentials.find("https://api.anthropic.com.evil.example").source == "none"
    assert credentials.find("http://localhost:1", local=True).secret == "local"
    assert credentials.forget() and not credentials.forget()


def test_without_a_keyring_it_says_what_to_do(locked: None) -> None:
    assert credentials.find().source == "none"
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        credentials.store("sk-ant-x")
    for wrong in ("", "  ", "two words", "ключ"):
        with pytest.raises(ProviderError, match="no key"):
            credentials.store(wrong)


def test_a_keyring_that_keeps_nothing_is_noticed() -> None:
    with pytest.raises(ProviderError, match="did not keep"):
        credentials.store("sk-ant-x")


def test_a_credential_is_not_printed() -> None:
    made = credentials.Credential(REAL, "given")
    assert REAL not in f"{made} {made!r} {[made]}"


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("", ""),
        ("  ", ""),
        ("http://localhost:11434", "http://localhost:11434"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("localhost:11434/v1", "http://localhost:11434"),
        ("127.0.0.1:8080/v1/messages", "http://127.0.0.1:8080"),
        ("192.168.1.5:1234", "http://192.168.1.5:1234"),
        ("openrouter.ai/api/v1/", "https://openrouter.ai/api"),
        ("https://proxy.example/anthropic/v1", "https://proxy.example/anthropic"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("https://HOST.example/v1?x=1#y", "https://host.example"),
    ],
)
def test_addresses_as_typed(typed: str, url: str) -> None:
    assert normalise(typed) == url
    assert normalise(url) == url


@pytest.mark.parametrize(
    "typed", ["ftp://x", "http://", "http://a b", "http://host:port", "https://u:p@host", "http://host:99999"]
)
def test_no_addresses(typed: str) -> None:
    with pytest.raises(BadInput):
        normalise(typed)


def test_kinds_of_addresses() -> None:
    assert (
        is_loopback("http://127.0.0.1:1")
        and is_loopback("http://[::1]:1")
        and is_loopback("http://localhost")
    )
    assert not is_loopback("http://127.0.0.1.evil.example") and not is_loopback("https://api.anthropic.com")
    assert is_first_party("") and is_first_party("https://api.anthropic.com")
    assert not is_first_party("https://api.anthropic.com:8443") and not is_first_party("http://localhost")
