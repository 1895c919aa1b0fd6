"""Enrichment: elements joined with what a lookup returns, with a cache, a time limit and dead letters."""

import time

import pytest

import headrace as hr
from headrace.io.requestresponse import (
    Caller,
    ExponentialBackOffRepeater,
    NoOpsRepeater,
    UserCodeQuotaException,
    UserCodeTimeoutException,
)
from headrace.sdk.joins.response_cache import MISSING, CacheSpec, ResponseCache
from headrace.sdk.joins.web_calls import call_in_time
from headrace.testing import TestPipeline, capture
from headrace.transforms.enrichment import Enrichment, EnrichmentSourceHandler, cross_join
from headrace.transforms.error_handling import CollectingErrorHandler
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    script,
    words,
)

CITIES = {"FR": "Paris", "IT": "Rome"}


class Capitals(EnrichmentSourceHandler):
    """Knows two capitals, and counts the lookups."""

    def __init__(self):
        self.asked = []
        self.opened = 0

    def __enter__(self):
        self.opened += 1
        return self

    def __exit__(self, *error):
        self.opened -= 1

    def __call__(self, request, *args, **kwargs):
        assert self.opened
        self.asked.append(request.country)
        if request.country == "XX":
            raise KeyError(request.country)
        return request, hr.Row(capital=CITIES.get(request.country))


class ByCountry(Capitals):
    def get_cache_key(self, request):
        return request.country


class InBatches(ByCountry):
    def batch_elements_kwargs(self):
        return {"min_batch_size": 2, "max_batch_size": 2}

    def __call__(self, request, *args, **kwargs):
        return [Capitals.__call__(self, each) for each in request]


def trips(*countries):
    return [hr.Row(trip=number, country=country) for number, country in enumerate(countries)]


def results(captured):
    return sorted((row.trip, row.country, row.capital) for row in captured.values)


JOINED = [(0, "FR", "Paris"), (1, "IT", "Rome"), (2, "FR", "Paris")]


@pytest.mark.mode("batch")
@pytest.mark.parametrize("handler", [Capitals, ByCountry, InBatches])
def test_an_element_is_joined_with_its_response(runner, handler):
    with TestPipeline(runner=runner) as p:
        created = p | hr.Create(trips("FR", "IT", "FR"))
        found = capture(created | Enrichment(handler()).with_cache(60, 10))
    assert results(found) == JOINED


@pytest.mark.parametrize("handler", [Capitals, InBatches])
def test_an_element_keeps_its_timestamp_and_window(play, handler):
    events = [
        arrive(at(3, hr.Row(trip=0, country="FR")), at(12, hr.Row(trip=1, country="IT"))),
        END,
    ]
    seen = play(events, hr.Values(), into(FIXED), Enrichment(handler()))
    found = [(element.value.capital, float(element.timestamp)) for element in seen.elements]
    assert found == [("Paris", 3), ("Rome", 12)]
    assert [float(element.window.start) for element in seen.elements] == [0, 10]


@pytest.mark.mode("any")
@pytest.mark.parametrize("handler", [Capitals, InBatches])
def test_an_element_whose_lookup_fails_is_a_dead_letter(runner, handler):
    with TestPipeline(runner=runner) as p:
        created = p | hr.Create(trips("FR", "IT", "XX"))
        good, bad = created | Enrichment(handler()).with_exception_handling()
        found, failed = capture(good), capture(bad, "bad")
    errors = {element.trip: error[1] for element, error in failed.values}
    assert errors[2] == "KeyError('XX')"
    assert {*errors, *(trip for trip, _, _ in results(found))} == {0, 1, 2}
    assert not {*errors} & {trip for trip, _, _ in results(found)}


@pytest.mark.mode("any")
def test_a_lookup_that_takes_too_long_is_an_error_with_the_step_and_the_element(runner):
    p = TestPipeline(runner=runner)
    slow = Enrichment(Slow(), timeout=0.01, repeater=NoOpsRepeater())
    _ = p | hr.Create(["a"]) | "look up" >> slow
    with pytest.raises(
        UserCodeTimeoutException, match=r"Slow did not .* 0.01 seconds to 'a'"
    ) as raised:
        p.run().wait_until_finish()
    notes = raised.value.__notes__
    assert "in look up/Join" in notes
    assert "on the element 'a'" in notes


class Slow(Caller):
    def __call__(self, request, *args, **kwargs):
        time.sleep(5)


# The cache


def asked(handler, *countries, **cache):
    with TestPipeline() as p:
        _ = p | hr.Create(trips(*countries)) | Enrichment(handler).with_cache(**cache)
    return handler.asked


def test_a_response_in_the_cache_is_used_again():
    assert asked(ByCountry(), "FR", "IT", "FR", "ZZ", "ZZ") == ["FR", "IT", "ZZ"]
    assert asked(Capitals(), "FR", "FR") == ["FR", "FR"]  # the default key is the whole element
    assert sorted(asked(InBatches(), "FR", "IT", "FR", "IT", "ZZ")) == ["FR", "IT", "ZZ"]


def test_the_cache_forgets_the_response_that_was_not_used_for_the_longest_time():
    found = asked(ByCountry(), "FR", "IT", "FR", "ZZ", "FR", "IT", max_size=2)
    assert found == ["FR", "IT", "ZZ", "IT"]


def test_the_cache_forgets_a_response_when_its_time_is_over():
    times = iter([0, 59, 60])
    cache = ResponseCache(CacheSpec(60), now=lambda: next(times))
    cache.put("FR", "Paris")
    assert cache.get("FR") == "Paris"
    assert cache.get("FR") is MISSING


def test_an_element_keeps_its_own_fields_with_a_response_from_the_cache():
    with TestPipeline() as p:
        enriched = p | hr.Create(trips("FR", "FR")) | Enrichment(ByCountry()).with_cache()
        found = capture(enriched)
    assert results(found) == [(0, "FR", "Paris"), (1, "FR", "Paris")]
    assert p.result is not None
    counted = p.result.metrics().query()["counters"]
    assert {each.key.metric.name: each.committed for each in counted} == {
        "requests": 1,
        "cache_hits": 1,
    }


# Joins, repetitions and handlers of errors


def test_the_join_is_that_of_the_transform_or_the_handler(caplog):
    class Own(Capitals):
        def join_fn(self, element, response):
            return element["trip"], response["capital"]

    def whole(element, response):
        return element.trip + 1, response

    with TestPipeline() as p:
        created = p | hr.Create(trips("FR"))
        found = [
            capture(created | "own" >> Enrichment(Own()), "own found"),
            capture(created | "other" >> Enrichment(Own(), lambda *both: both), "other found"),
            capture(
                created | "whole" >> Enrichment(Capitals(), whole, use_custom_types=True), "all"
            ),
        ]
    assert [each.values for each in found] == [
        [(0, "Paris")],
        [({"trip": 0, "country": "FR"}, {"capital": "Paris"})],
        [(1, hr.Row(capital="Paris"))],
    ]
    assert cross_join({"id": 1}, {"id": 2}) == hr.Row(id=1)
    assert "the field id is 1 in the element and 2 in the response" in caplog.text


def test_a_call_is_repeated_after_a_quota_error_but_not_after_others():
    calls = []

    def busy(request):
        calls.append(request)
        if len(calls) < 3:
            raise UserCodeQuotaException
        return "response"

    def broken(request):
        calls.append(request)
        raise ValueError(request)

    repeater = ExponentialBackOffRepeater(num_retries=2, initial_delay_secs=0)
    assert repeater.repeat(busy, "a", 10) == "response"
    assert len(calls) == 3
    with pytest.raises(ValueError, match="a"):
        repeater.repeat(broken, "a", 10)
    assert len(calls) == 4
    calls.clear()
    with pytest.raises(UserCodeQuotaException):
        ExponentialBackOffRepeater(1, initial_delay_secs=0).repeat(busy, "a", None)


def test_an_exception_of_a_call_with_a_time_limit_keeps_its_type():
    with pytest.raises(KeyError):
        call_in_time({}.__getitem__, "a", 10)


def test_an_error_handler_gets_the_dead_letters_of_lookups_and_other_steps():
    with TestPipeline() as p:
        created = p | hr.Create(trips("FR", "XX"))
        with CollectingErrorHandler() as handler:
            good = created | Enrichment(Capitals()).with_error_handler(handler)
            _ = good | hr.Map(lambda row: 1 // row.trip).with_error_handler(handler)
        found = capture(handler.output() | hr.MapTuple(lambda element, error: error[1]))
    assert sorted(found.values) == [
        "KeyError('XX')",
        "ZeroDivisionError('integer division or modulo by zero')",
    ]


def test_too_many_failing_lookups_stop_the_pipeline():
    p = TestPipeline()
    handled = Enrichment(Capitals()).with_exception_handling(threshold=0.1)
    _ = p | hr.Create(trips("FR", "XX")) | handled
    with pytest.raises(hr.FailuresError, match="1 of 2 elements failed"):
        p.run()


# Refusals


def test_what_a_handler_returns_is_checked():
    class Bare(EnrichmentSourceHandler):
        def __call__(self, request, *args, **kwargs):
            return "Paris"

    class Short(InBatches):
        def __call__(self, request, *args, **kwargs):
            return []

    for handler, problem in ((Bare(), "returned 'Paris'"), (Short(), "returned 0 pairs for 2")):
        p = TestPipeline()
        _ = p | hr.Create(trips("FR", "IT")) | "look up" >> Enrichment(handler)
        with pytest.raises(hr.errors.ElementError, match=problem):
            p.run()


def test_a_collection_with_retractions_is_refused():
    p = TestPipeline()
    changing = p | script([END]) | into(FIXED, EACH, RETRACTING) | words()
    with pytest.raises(hr.PipelineError, match="could have another response"):
        _ = changing | Enrichment(Capitals())


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Enrichment(Capitals(), timeout=0), "the timeout is 0"),
        (lambda: Enrichment(Capitals(), throttler=object()), "does not support the throttler"),
        (lambda: Enrichment(Capitals()).with_cache(0), "time_to_live of the cache is 0"),
        (lambda: Enrichment(Capitals()).with_cache(1, 0), "max_size of the cache is 0"),
        (lambda: Enrichment(Capitals()).with_redis_cache("h", 1), "no cache in Redis"),
        (lambda: ExponentialBackOffRepeater(-1), "num_retries is -1"),
    ],
)
def test_arguments_that_are_not_valid_are_refused(make, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        make()
