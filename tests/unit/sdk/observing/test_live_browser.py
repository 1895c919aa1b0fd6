"""The live page in a real browser: what a reader sees of a run, on both runners."""

import logging

import pytest

import headrace as hr
from headrace.transforms.window import FixedWindows
from tests.support.repository import ROOT
from tests.unit.sdk.observing.served_runs import (
    HOSTILE,
    SECOND,
    a_round,
    built_in,
    data,
    outline,
    run,
    scores,
    served,
    totals,
)

SCREENSHOTS = ROOT / "out" / "screenshots"

DRAWN = "document.body.dataset.drawn > 0"
SUM = "#steps tr:nth-child(3) td[data-name={}]"


def errors(browser) -> list[str]:
    """What went wrong in the page, except that Vega-Lite warns of layers that share a scale."""
    return [text for text in browser.console if not text.startswith("WARN")]


@pytest.mark.slow
def test_a_browser_shows_the_numbers_of_a_run(page, browser):
    result = run(page, scores(late=3))
    browser.open(page.url)
    browser.wait_for(DRAWN)
    step = result.metrics().steps["Sum"]
    names = ("elements_in", "elements_out", "early", "on_time", "late", "retractions")
    shown = [int(browser.texts(SUM.format(name))[0]) for name in names]
    counted = [step.panes[timing] for timing in ("EARLY", "ON_TIME", "LATE")]
    assert shown == [step.elements_in, step.elements_out, *counted, step.retractions]
    assert browser.texts("#state") == ["DONE"]
    assert browser.count("#graph svg .step") == 4
    assert browser.count("#over-time svg") >= 3
    assert browser.texts("#pictures h3") == ["Sum: a"]
    assert browser.count("#pictures svg [aria-roledescription='rect mark']") == 1
    assert errors(browser) == []
    assert browser.screenshot(SCREENSHOTS / "live.png").stat().st_size > 10_000


def test_a_browser_shows_the_first_rows_of_a_view(page, browser, tmp_path):
    p = hr.Pipeline(argv=[], observers=[page])
    view = hr.io.MaterializedView(tmp_path / "view.db", "t", key="k")
    _ = p | hr.Create([{"k": HOSTILE, "n": 1}, {"k": "other", "n": None}]) | "Keep" >> view
    p.run()
    browser.open(page.url)
    browser.wait_for(DRAWN)
    assert browser.texts("#views h3") == ["Keep"]
    assert browser.texts("#views th") == ["k", "n"]
    assert browser.texts("#views td") == [HOSTILE, "1", "other", ""]
    assert errors(browser) == []


def test_a_reader_chooses_a_key_and_the_link_keeps_it(done, browser):
    browser.open(done.url)
    browser.wait_for(DRAWN)
    browser.evaluate(
        "(byId('key').value = 'b', byId('key').dispatchEvent(new Event('change', {bubbles: true})))"
    )
    browser.wait_for("document.querySelector('#pictures h3').textContent === 'Sum: b'")
    link = browser.evaluate("location.href")
    browser.open("about:blank#other")
    browser.open(link)
    browser.wait_for(DRAWN)
    assert browser.texts("#pictures h3") == ["Sum: b"]


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_of_it_in_the_readers_colors(done, browser, dark):
    browser.open(done.url, width=360, height=740, dark=dark)
    browser.wait_for(DRAWN)
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    [red, *_] = browser.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
    )
    assert red < 64 if dark else red > 192
    browser.screenshot(SCREENSHOTS / f"live-phone-{'dark' if dark else 'light'}.png")


def test_what_a_run_says_is_text(page, browser):
    page.start(outline())
    for number in range(3):
        page.round(a_round(number, number * SECOND, engine={HOSTILE: 1.0}))
    logging.getLogger("headrace.tests").warning(HOSTILE, extra={"step": HOSTILE})
    page.end("FAILED", ValueError(HOSTILE))
    browser.open(page.url)
    browser.wait_for(DRAWN)
    assert browser.count("img") == 0
    assert browser.texts("#error") == [HOSTILE]
    assert browser.texts("#logs td[data-name=message]") == [HOSTILE]
    assert browser.texts("h1") == [HOSTILE]
    assert browser.texts("#pictures h3") == [f"{HOSTILE}: {HOSTILE}"]
    assert errors(browser) == []


def test_a_hidden_page_asks_for_nothing(done, browser):
    browser.open(done.url)
    browser.wait_for(DRAWN)
    requests = "performance.getEntriesByName(new URL('run.json?spans=0', location).href).length"
    browser.evaluate(
        "Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})"
    )
    before = browser.evaluate(requests)
    browser.evaluate("refresh()")
    assert browser.evaluate(requests) == before
    browser.evaluate(
        "Object.defineProperty(document, 'hidden', {configurable: true, get: () => false})"
    )
    browser.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    browser.wait_for(f"{requests} > {before}")


def test_when_the_program_has_ended_the_page_says_so_and_keeps_its_numbers(browser):
    with served() as page:
        run(page, scores())
        browser.open(page.url)
        browser.wait_for(DRAWN)
    browser.evaluate("refresh()")
    browser.wait_for("byId('connection').textContent.startsWith('No connection')")
    assert browser.texts(SUM.format("elements_in")) == ["16"]


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_a_browser_follows_a_run_and_shows_its_result(runner, page, browser):
    p = hr.Pipeline(runner, argv=["--streaming"], observers=[page])
    windows = hr.WindowInto(FixedWindows(1))
    numbers = p | hr.PeriodicImpulse(fire_interval=0.2) | windows
    _ = numbers | hr.Map(lambda _: ("all", 1)) | "Sum" >> hr.CombinePerKey(sum)
    result = p.run()
    pane = "#steps tr:nth-child(4) td[data-name=on_time]"
    try:
        browser.open(page.url)
        browser.wait_for(f"Number(document.querySelector('{pane}')?.textContent) > 2")
        assert browser.texts("#state") == ["RUNNING"]
    finally:
        result.cancel()
    browser.wait_for("document.querySelector('#state').textContent === 'CANCELLED'")
    found = result.metrics().steps["Sum"]
    assert [int(text) for text in browser.texts(pane)] == [found.panes["ON_TIME"]]
    found = data(page)
    assert totals(found) == built_in(result.metrics())
    assert browser.texts("#engine dt") == list(found["engine"])
    browser.screenshot(SCREENSHOTS / f"live-{found['run']['runner']}.png")
    assert errors(browser) == []
