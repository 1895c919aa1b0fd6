"""The report of a run, read in a real browser: it shows what the run counted, and needs no network.

Screenshots of the reports are kept in out/screenshots.
"""

from __future__ import annotations

import gzip
import json
import re
import runpy
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.metrics.run_records import StepOutline
from headrace.sdk.observing import packages
from headrace.sdk.observing.history import History
from headrace.sdk.observing.reports.report import HtmlReport, chart_data, duration, report_page
from tests.docs.examples.conftest import EXAMPLES
from tests.model.test_figures import stream, windowing
from tests.support.repository import ROOT
from tests.unit.sdk.observing.chromium import Browser
from tests.unit.sdk.observing.test_pictures import FOURTEEN, long_run

SCREENSHOTS = ROOT / "out" / "screenshots"
FLIGHTS = ROOT / "tests/docs/examples/flights.csv"
DRAWN = "document.body.dataset.drawn"
HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\">{{job}}"


def opened(browser: Browser, path: Path, **how: Any) -> Browser:
    """The browser with a report whose charts are drawn."""
    browser.open(path.as_uri(), **how)
    browser.wait_for(DRAWN)
    assert [text for text in browser.console if not text.startswith("WARN")] == []
    return browser


def picture_marks(browser: Browser) -> dict[str, int]:
    """The numbers of the drawn marks by kind."""
    marks = {"rect": "path", "rule": "line", "symbol": "path", "line": "path"}
    return {
        kind: browser.count(f"#picture .mark-{kind}.role-mark > {tag}")
        for kind, tag in marks.items()
    }


def svg_texts(browser: Browser, selector: str) -> list[str]:
    """The texts of elements of an SVG image."""
    return browser.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
    )


def build_figure(p: hr.Pipeline) -> None:
    _ = p | stream(FOURTEEN) | windowing(FOURTEEN) | "sum" >> hr.CombinePerKey(sum)


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of figure 14, from the flag."""
    path = tmp_path_factory.mktemp("report") / "new" / "figure.html"
    with hr.Pipeline("local", argv=[f"--report={path}"]) as p:
        build_figure(p)
    return path


# ------------------------------------------------------------------------------ in the browser


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_figure_14_is_in_the_report(runner: Any, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with hr.Pipeline(runner, argv=[], observers=[HtmlReport(path)]) as p:
        build_figure(p)
    page = opened(browser, path)
    assert picture_marks(page) == {"rect": 7, "rule": 7 + 5, "symbol": 10, "line": 2}
    values = svg_texts(page, "#picture .mark-text.role-mark text")
    assert {"5", "7", "10", "25", "39", "3", "12", "−5", "−7", "−10", "−25", "−3"} <= {*values}
    totals = dict(zip(page.texts(".totals dt"), page.texts(".totals dd"), strict=True))
    numbers = {"elements read": "10", "early panes": "4", "on-time panes": "2", "late panes": "1"}
    assert totals.items() >= {**numbers, "retractions": "5"}.items()
    assert page.texts(".state") == ["DONE"]
    name = runner if isinstance(runner, str) else "spark"
    assert page.screenshot(SCREENSHOTS / f"figure-14-{name}.png").stat().st_size > 20_000


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_the_flights_job_has_a_report(runner: Any, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    job = runpy.run_path(str(EXAMPLES / "flights.py"))
    argv = ["--streaming", "--max-records-per-batch=100"]
    with hr.Pipeline(runner, argv=argv, observers=[HtmlReport(path)]) as p:
        job["build"](p, FLIGHTS, "retracting", 20 * 3600, job["sinks_for"]("retracting"))
    page = opened(browser, path)
    assert p.result is not None
    steps = p.result.metrics().steps
    totals = dict(zip(page.texts(".totals dt"), page.texts(".totals dd"), strict=True))
    assert totals["elements read"] == f"{steps['Read'].elements_out:,}"
    assert totals["retractions"] == f"{sum(s.retractions for s in steps.values()):,}"
    assert page.count("svg.graph .step") == len(steps)
    assert page.texts("#grouping option") == ["Hours", "Days", "Working days"]
    assert page.count("#charts figure svg") >= 2
    assert path.stat().st_size < 2_000_000
    name = runner if isinstance(runner, str) else "spark"
    page.screenshot(SCREENSHOTS / f"flights-{name}.png")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_the_report_without_scrolling_sideways(
    figure: Path, browser: Browser, dark: bool
) -> None:
    page = opened(browser, figure, width=360, height=780, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert (
        page.evaluate("document.querySelector('#picture svg').getBoundingClientRect().right") <= 360
    )
    background = page.evaluate(
        "['#picture svg', 'body'].map("
        "(name) => getComputedStyle(document.querySelector(name)).backgroundColor)"
    )
    assert background == ["rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)"] * 2
    assert "39" in svg_texts(page, "#picture .mark-text.role-mark text")
    page.screenshot(SCREENSHOTS / f"phone-{'dark' if dark else 'light'}.png")


def test_a_reader_chooses_the_grouping_the_key_and_the_part(
    browser: Browser, tmp_path: Path
) -> None:
    page = opened(browser, write(long_run(400), tmp_path))
    assert page.texts("#key option") == ["a", "b"]
    assert page.texts("#part option") == [
        "windows with most firings",
        "first windows",
        "last windows",
    ]
    assert "10 Jan" in svg_texts(page, "#picture .role-axis-label text")
    page.evaluate("byId('part').value = 'last windows'")
    page.evaluate("byId('part').dispatchEvent(new Event('change'))")
    page.wait_for("byId('picture').textContent.includes('17 Jan')")


def write(history: History, folder: Path) -> Path:
    """The report of a history, with the real Vega."""
    report = HtmlReport(folder / "report.html")
    vega = report._vega.text()
    path = folder / "report.html"
    path.write_text(report_page(history, vega, 5_000_000), encoding="utf-8")
    return path


def test_what_a_run_is_called_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with hr.Pipeline("local", argv=[], observers=[HtmlReport(path)]) as p:
        _ = p | HOSTILE >> hr.Create([(HOSTILE, HOSTILE)]) | "<b>group</b>" >> hr.GroupByKey()
    page = opened(browser, path)
    assert page.count("img") == page.count("b") == 0
    assert page.evaluate("document.title") != "hacked"
    assert page.texts("#grouping option") == ["<b>group</b>"]
    assert page.texts("#key option")[0].startswith("</script>")


def test_nothing_is_loaded_from_a_network(figure: Path, browser: Browser) -> None:
    page = opened(browser, figure)
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert [url for url in loaded if not url.startswith("data:")] == []


# ------------------------------------------------------------------------------ the file


@pytest.mark.slow
def test_a_failed_run_has_a_report_with_its_error(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with (
        pytest.raises(ZeroDivisionError),
        hr.Pipeline("local", argv=[f"--report={path}"]) as p,
    ):
        _ = p | hr.Create([("a", 0)]) | "Divide" >> hr.MapTuple(lambda key, n: 1 / n)
    text = path.read_text()
    assert 'data-state="FAILED"' in text
    assert re.search(r'<pre class="error">[^<]*division by zero', text)


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_a_missing_package_is_an_error_before_the_run(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = find_spec
    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == package else real(name))
    message = f"--report needs the package {package}, which is not installed"
    with (
        pytest.raises(PipelineError, match=message),
        hr.Pipeline("local", argv=[f"--report={tmp_path / 'report.html'}"]) as p,
    ):
        _ = p | hr.Create([1])


@pytest.mark.slow
def test_the_charts_of_many_long_groupings_fit() -> None:
    history = long_run(2_000, keys="abcde")
    assert history.run is not None
    sums = [StepOutline(f"Sum {n}", "Combine", ("Read",), groups=True) for n in range(30)]
    history.groupings |= {step.label: history.groupings["Sum"] for step in sums}
    text, left_out = chart_data(history)
    assert len(text) < 900_000
    data = json.loads(gzip.decompress(b64decode(text)))
    assert len({(chart["label"], chart["key"]) for chart in data["pictures"]}) == 12
    assert left_out == 31 * 3 - 12


def test_durations_are_short() -> None:
    assert [duration(seconds) for seconds in (0.031, 9.96, 59.2, 61, 3_600)] == [
        "0.031 s",
        "10 s",
        "59 s",
        "1 min 1 s",
        "1 h 0 min",
    ]
