"""On Spark Connect pipelines run in batch mode; streaming is refused with the reason."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.errors import UnsupportedError
from headrace.runners.spark.cluster import connect
from headrace.runners.spark.cluster.connect import connect_session, remote_url, run_settings
from tests.support.repository import ROOT

PROGRAM = Path(__file__).parent / "connect_program.py"


@pytest.mark.slow
def test_a_local_server(tmp_path: Path) -> None:
    for module in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(module, reason="needs the packages of headrace[connect]")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK"))}
    own = {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={**clean, **own, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["totals"] == [["mill", 2], ["quay", 4]]
    assert found["frame"] == [17]
    assert found["failure"][:2] == ["ValueError", "the milk is spilled"]
    assert "in Fail" in " ".join(found["failure"][2:])
    assert found["streaming"][0] == "UnsupportedError"
    assert "a streaming pipeline cannot run on Spark Connect" in found["streaming"][1]
    assert found["zone"] == "Europe/Paris", "the settings of the session are restored"


def test_the_address_of_a_server(monkeypatch) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert remote_url(None) is None
    assert remote_url("local[2]") is None
    assert remote_url("sc://host:15002") == "sc://host:15002"
    monkeypatch.setenv("SPARK_REMOTE", "sc://other")
    assert remote_url(None) == "sc://other"
    assert remote_url("local[2]") is None


def test_a_client_without_its_packages(monkeypatch) -> None:
    monkeypatch.setattr(connect, "is_installed", lambda module: module != "grpc_status")
    with pytest.raises(UnsupportedError, match="needs the module grpc_status") as error:
        connect_session("sc://host:15002", {})
    assert error.value.remedy == "pip install 'headrace[connect]'"


class Settings(dict):
    """The settings of a session."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


class Session:
    def __init__(self, **conf: str) -> None:
        self.conf = Settings(conf)


def test_settings_of_a_run_are_restored_after_an_error() -> None:
    session = Session(zone="Paris")
    with suppress(ValueError), run_settings(session, {"zone": "UTC", "new": "1"}):  # type: ignore[arg-type]
        assert session.conf == {"zone": "UTC", "new": "1"}
        raise ValueError
    assert session.conf == {"zone": "Paris"}
