"""A server of OpenLineage receives when a run starts, how it ends, and what it reads and writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestStream
from tests.unit.sdk.observing.receiver import Receiver, receiving

pytest.importorskip("openlineage.client")


def events(server: Receiver) -> list[dict[str, Any]]:
    assert {(r.method, r.path) for r in server.requests} == {("POST", "/api/v1/lineage")}
    return [json.loads(request.body) for request in server.requests]


def test_start_and_complete_with_datasets_and_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/mills/mill.py"])
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "mills")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "secret")
    (tmp_path / "sacks.txt").write_text("rye\noats\nrye\n")
    with receiving() as server:
        with hr.Pipeline(argv=[f"--openlineage={server.url}"]) as p:
            lines = p | hr.io.ReadFromText(str(tmp_path / "sacks.txt"))
            rye = lines | hr.Filter(lambda line: line == "rye")
            _ = rye | hr.io.WriteToText(str(tmp_path / "rye"), ".txt")
        start, complete = events(server)
        assert server.requests[0].headers["authorization"] == "Bearer secret"
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert (start["job"]["namespace"], start["job"]["name"]) == ("mills", "mill")
    assert start["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    ((source,), (sink,)) = complete["inputs"], complete["outputs"]
    assert (source["namespace"], source["name"]) == ("file", f"{tmp_path}/sacks.txt")
    assert (sink["namespace"], sink["name"]) == ("file", f"{tmp_path}/rye*.txt")
    assert p.result is not None
    steps = p.result.metrics().steps.values()
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 3
    assert sink["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert {3, 2} <= {step.elements_in for step in steps}
    assert [d["name"] for d in start["inputs"]] == [source["name"]]


def test_fail_has_the_error_with_its_step() -> None:
    with receiving() as server:
        p = hr.Pipeline(argv=["--openlineage", server.url])
        _ = p | hr.Create([0]) | "Divide" >> hr.Map(lambda x: 1 / x)
        with pytest.raises(ZeroDivisionError):
            p.run()
        fail = events(server)[-1]
    assert fail["eventType"] == "FAIL"
    error = fail["run"]["facets"]["errorMessage"]
    assert error["message"] == "division by zero"
    assert "in Divide" in error["stackTrace"]


def test_abort_of_a_stream_that_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        p = hr.Pipeline(argv=["--openlineage"])
        _ = p | hr.PeriodicImpulse()
        p.run().cancel()
        sent = events(server)
    assert [event["eventType"] for event in sent] == ["START", "ABORT"]
    assert sent[0]["job"]["facets"]["jobType"]["processingType"] == "STREAMING"


def test_a_server_that_fails_does_not_stop_the_run(caplog: pytest.LogCaptureFixture) -> None:
    with receiving(status=400) as server:
        p = hr.Pipeline(argv=[f"--openlineage={server.url}"])
        _ = p | TestStream().add_elements([1])
        assert p.run().wait_until_finish() == "DONE"
    assert "the event START was not sent to OpenLineage" in caplog.text


def test_a_url_that_is_none_is_refused() -> None:
    p = hr.Pipeline(argv=["--openlineage=marquez"])
    _ = p | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="--openlineage 'marquez' is not a URL"):
        p.run()
