"""The live page: its numbers are those of the run, it only reads, and it answers only to its own machine."""

import logging
import socket
from collections import Counter
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.observing.live import LivePage
from headrace.sdk.observing.live.guard import HEADERS
from headrace.transforms.window import FixedWindows
from tests.unit.sdk.observing.served_runs import (
    HOSTILE,
    a_round,
    ask,
    built_in,
    data,
    outline,
    run,
    scores,
    served,
    totals,
)

# ------------------------------------------------------------------------------------------ numbers


def test_the_numbers_are_those_of_the_result(page):
    result = run(page, scores(late=3))
    found = data(page)
    assert totals(found) == built_in(result.metrics())
    assert found["state"] == "DONE"
    assert totals(found)["Sum"]["panes"] == {"EARLY": 8, "ON_TIME": 2, "LATE": 3}
    assert totals(found)["Sum"]["retractions"] == 11


def test_the_spans_add_up_to_the_totals(page):
    run(page, scores(late=3))
    found = data(page)
    panes: Counter[str] = Counter()
    for span in found["spans"]:
        panes.update(span["steps"]["Sum"]["panes"])
    assert panes == totals(found)["Sum"]["panes"]
    assert sum(span["rounds"] for span in found["spans"]) == found["rounds"]
    assert "spans" not in data(page, "/run.json?spans=0")


def test_a_run_that_goes_on_shows_what_it_has_done(page):
    p = hr.Pipeline(argv=[], observers=[page])
    _ = p | hr.PeriodicImpulse(fire_interval=0.01) | "Pass" >> hr.Map(lambda element: element)
    result = p.run()
    try:
        wait_until(lambda: data(page)["rounds"] > 3)
        assert data(page)["state"] == "RUNNING"
    finally:
        result.cancel()
    assert data(page)["state"] == "CANCELLED"
    assert totals(data(page)) == built_in(result.metrics())


def wait_until(condition) -> None:
    for _ in range(100_000):
        if condition():
            return
    raise AssertionError("the condition did not become true")


@pytest.mark.slow
def test_the_charts_are_of_the_chosen_grouping_and_key(page):
    run(page, scores())
    found = data(page, "/charts.json?grouping=Sum&key=b&minutes=all")
    assert (found["grouping"], found["key"]) == ("Sum", "b")
    assert data(page, "/charts.json?grouping=none&key=none")["key"] == "a"


@pytest.mark.parametrize("minutes", ["0", "-1", "many", "nan"])
def test_minutes_that_are_no_number_above_0_are_refused(done, minutes):
    assert ask(done, f"/charts.json?minutes={minutes}")[0].status == 400


def test_a_failed_run_shows_its_error_and_its_warnings(page):
    def fail(element):
        logging.getLogger("headrace.tests").warning("soon", extra={"step": "Show"})
        raise ValueError(f"no {HOSTILE}")

    p = hr.Pipeline(argv=[], observers=[page])
    _ = p | scores() | "Fail" >> hr.Map(fail)
    with pytest.raises(ValueError, match="no"):
        p.run()
    found = data(page)
    assert found["state"] == "FAILED"
    assert HOSTILE in found["error"]
    assert [(log["step"], log["message"]) for log in found["logs"]] == [("Show", "soon")]


def test_user_defined_metrics_are_shown(page):
    turns = Metrics.counter("mill", "turns")
    p = hr.Pipeline(argv=[], observers=[page])
    _ = p | hr.Create([2, 3]) | "Grind" >> hr.Map(turns.inc)
    p.run()
    grind = {"step": "Grind", "namespace": "mill", "name": "turns", "value": 5}
    assert data(page)["metrics"] == [grind]


def add_view(page, place):
    """The sums of two players, in a materialised view."""
    p = hr.Pipeline(argv=[], observers=[page])
    windows = hr.WindowInto(FixedWindows(10), allowed_lateness=100)
    view = hr.io.MaterializedView(place, "sums", key="player", columns=["player", "sum"])
    _ = p | scores() | windows | hr.CombinePerKey(sum) | "Keep" >> view
    return p


def test_the_first_rows_of_a_view_are_shown(page, tmp_path):
    place = tmp_path / "view.db"
    seen = []
    page_before = page.round

    def round_then_look(done):
        page_before(done)
        seen.append(data(page)["views"])

    page.round = round_then_look
    add_view(page, place).run()
    bounds = ["1970-01-01 00:00:00", "1970-01-01 00:00:10"]
    view = {
        "label": "Keep",
        "columns": ["player", "sum", "window_start", "window_end"],
        "rows": [["a", "8", *bounds], ["b", "8", *bounds]],
    }
    assert seen[0] == [{"label": "Keep", "columns": [], "rows": []}]
    assert seen[-1] == data(page)["views"] == [view]
    place.unlink()
    assert data(page)["views"] == seen[0]
    assert not place.exists()


def test_numbers_of_the_engine_are_those_of_the_last_round(page):
    page.start(outline())
    page.round(a_round(0, engine={"batch_id": 6.0}))
    page.round(a_round(1, engine={"batch_id": 7.0, "mean": float("nan")}))
    assert data(page)["engine"] == {"batch_id": 7, "mean": "nan"}


# ----------------------------------------------------------------------------------------- requests


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/run.json", "/nowhere"])
def test_the_page_is_read_only(done, method, path):
    answer, _ = ask(done, path, method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/run.json", "/charts.json", "/health", "/live.js"])
def test_head_is_get_without_a_body(done, path):
    answer, body = ask(done, path, "HEAD")
    assert (answer.status, body) == (200, b"")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_on_loopback_another_host_is_refused(done, host):
    assert ask(done, "/run.json", Host=host)[0].status == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1", "[::1]:8080"])
def test_on_loopback_its_own_names_are_accepted(done, host):
    assert ask(done, "/run.json", Host=host)[0].status == 200


def test_on_all_interfaces_any_host_is_accepted():
    with served("0.0.0.0:0") as page:
        page.start(outline())
        assert ask(page, "/run.json", Host="mill.example:8080")[0].status == 200


def test_the_graph_is_an_image_whatever_the_labels_are(page):
    page.start(outline(label="\x00<&>\ud800"))
    answer, body = ask(page, "/graph.svg")
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    [text] = [
        text for text in ElementTree.fromstring(body).itertext() if "<&>" in text and len(text) < 9
    ]
    assert text == "\ufffd<&>\ufffd"


@pytest.mark.parametrize(
    "path", ["/nowhere", "/../page.py", "/live.js/../page.py", "/%2e%2e/page.py", "//etc/passwd"]
)
def test_no_path_reaches_a_file(done, path):
    assert ask(done, path)[0].status == 404


@pytest.mark.parametrize(
    ("path", "method", "host"),
    [("/", "GET", ""), ("/nowhere", "GET", ""), ("/", "POST", ""), ("/", "GET", "evil.example")],
)
def test_all_answers_have_the_fixed_headers(done, path, method, host):
    answer, _ = ask(done, path, method, **({"Host": host} if host else {}))
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


# ---------------------------------------------------------------------------------- start and stop


def test_a_port_that_is_taken_is_an_error_before_anything_is_read():
    read: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        page = LivePage(f":{taken.getsockname()[1]}")
        p = hr.Pipeline(argv=[], observers=[page])
        _ = p | hr.Create(["a"]) | hr.Map(lambda element: read.append(element))
        with pytest.raises(PipelineError, match=r"--serve cannot listen on .* in use"):
            p.run()
    assert read == []


def test_the_flag_serves_a_page_and_tells_its_url(capsys, caplog):
    caplog.set_level(logging.INFO, "headrace")
    with hr.Pipeline(argv=["--serve=:0"]) as p:
        _ = p | hr.Create([1])
    [line] = capsys.readouterr().err.splitlines()
    url = line.removeprefix("live page: ")
    [record] = [record for record in caplog.records if record.message.endswith(url)]
    assert record.levelname == "INFO"
    where = urlsplit(url)
    assert (where.hostname, where.path) == ("127.0.0.1", "/")


@pytest.mark.parametrize("address", ["here", ":", "host:port", ":65536", ":-1"])
def test_an_address_without_a_port_is_an_error(address):
    with pytest.raises(PipelineError, match="--serve"):
        LivePage(address)


def test_a_missing_package_is_an_error_with_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(PipelineError, match=r"uvicorn.*\n.*headrace\[serve\]"):
        LivePage(":0").check()


def test_the_page_of_the_next_run_replaces_that_of_a_run_that_has_ended():
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f":{free.getsockname()[1]}"
    with served(address) as first, served(address) as second:
        first.start(outline("first"))
        with pytest.raises(PipelineError, match="in use"):
            second.start(outline("second"))
        first.end("DONE")
        second.start(outline("second"))
        assert data(second)["run"]["name"] == "second"
    with socket.create_server(("127.0.0.1", int(address[1:]))):
        pass  # stopping frees the port
