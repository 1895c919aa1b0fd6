"""Settings of the client: what passes, what is refused, and secrets that are never shown."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.io.connection_settings import is_secret
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.sdk.io.secret import Secret

SERVER = {"bootstrap.servers": "localhost:1"}
PASSWORD = "correct-horse-battery"


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.key.pem",
        "ssl.certificate.pem",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "basic.auth.user.info",
        "bearer.auth.token",
    ],
)
def test_a_text_for_a_secret_is_never_shown(name: str) -> None:
    settings = ClientSettings.of({**SERVER, name: PASSWORD})
    shown = f"{settings!r} {settings} {settings.shown} {settings.get(name)!r} {settings.get(name)}"
    assert PASSWORD not in shown
    assert settings.resolved()[name] == PASSWORD


@pytest.mark.parametrize(
    "name", ["bootstrap.servers", "sasl.username", "ssl.ca.location", "security.protocol", "debug"]
)
def test_other_settings_are_shown(name: str) -> None:
    assert not is_secret(name)


def test_the_settings_survive_pickling() -> None:
    settings = ClientSettings.of({**SERVER, "sasl.password": PASSWORD})
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    assert copy.resolved() == {**SERVER, "sasl.password": PASSWORD}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {**SERVER, "key.deserializer": "x"},
            "give it to the transform instead: key_deserializer=",
        ),
        ({**SERVER, "sasl.jaas.config": "x"}, "use sasl.mechanism, sasl.username"),
        ({**SERVER, "max.poll.records": 5}, "the runner decides"),
        ({"group.id": "a"}, "has no bootstrap.servers"),
        ({**SERVER, "acks": ["all"]}, "the setting acks is a list"),
        ([SERVER], "not a dict of settings"),
    ],
)
def test_settings_that_cannot_work_are_refused(config: Any, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        ClientSettings.of(config)


def test_java_names_of_settings_are_translated() -> None:
    settings = ClientSettings.of({**SERVER, "fetch.max.wait.ms": 5})
    assert settings.resolved() == {**SERVER, "fetch.wait.max.ms": 5}


def test_a_secret_is_looked_up_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    by_env, by_file = Secret.from_env("A_PASSWORD_OF_TESTS"), Secret.from_file(file)
    settings = ClientSettings.of({**SERVER, "sasl.password": by_env, "ssl.key.password": by_file})
    with pytest.raises(PipelineError, match=r"spark\.executorEnv\.A_PASSWORD_OF_TESTS"):
        settings.resolved()
    monkeypatch.setenv("A_PASSWORD_OF_TESTS", PASSWORD)
    with pytest.raises(PipelineError, match="every process that connects needs the file"):
        settings.resolved()
    file.write_text("of-a-file\n")
    found = settings.resolved()
    assert (found["sasl.password"], found["ssl.key.password"]) == (PASSWORD, "of-a-file")
    assert PASSWORD.encode() not in pickle.dumps(settings)


def test_errors_of_the_client_have_no_secrets() -> None:
    settings = ClientSettings.of({**SERVER, "sasl.password": PASSWORD, "wrong.setting": 1})
    with pytest.raises(PipelineError, match=r"wrong\.setting"), settings.errors("connect"):
        kafka().Consumer({"group.id": "a", **settings.resolved()})
    assert settings.scrubbed(f"login {PASSWORD} failed") == "login *** failed"


def test_the_name_is_public() -> None:
    assert hr.io.Secret is Secret
