"""The benchmark as a pipeline of Headrace; filter and projection work on columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import narwhals as nw

import headrace as hr
from benchmarks.yahoo.events import DISORDER, LATEST, WINDOW
from benchmarks.yahoo.stored_counts import CountStore
from headrace.transforms.enrichment import Enrichment, EnrichmentSourceHandler
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly

MOST: Final = 1_000_000
"""Maximum number of records that a batch reads of a partition: all that there are."""

FIELDS: Final = {
    "user_id": str,
    "page_id": str,
    "ad_id": str,
    "ad_type": str,
    "event_type": str,
    "event_time": int,
    "ip_address": str,
}


class Campaigns(EnrichmentSourceHandler):
    """Asks Redis for the campaign of an ad."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> Campaigns:
        self._store = CountStore(self._url)
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, str]]:
        return request, {"campaign": self._store.campaign_of(request.ad_id)}

    def get_cache_key(self, request: Any) -> str:
        return str(request.ad_id)


class CountSink(hr.io.Sink):
    """Writes the counts of each batch to Redis; a count that comes again replaces itself."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self) -> None:
        self._store = CountStore(self._url)

    def write(self, batch: hr.io.SinkBatch) -> None:
        self._store.write(batch.bundle.values)

    def close(self) -> None:
        self._store.close()


def build(p: hr.Pipeline, brokers: str, topic: str, redis_url: str) -> None:
    """Build the pipeline.

    Args:
        p: the pipeline.
        brokers: address of Kafka.
        topic: the topic of the events; the time of a message is that of its event.
        redis_url: URL of the database with the campaigns, which gets the counts.
    """
    read = hr.io.ReadFromKafka(
        {"bootstrap.servers": brokers},
        topic,
        value_deserializer=hr.io.JsonSerde(FIELDS),
        watermark=hr.BoundedOutOfOrderness(DISORDER),
    )
    views = (
        p
        | "Read" >> read
        | hr.Values()
        | "Views" >> hr.Filter(nw.col("event_type") == "view")
        | "Project" >> hr.Select("ad_id")
    )
    counts = (
        views
        | "Join" >> Enrichment(Campaigns(redis_url), join_fn=_campaign).with_cache()
        | "Ten seconds" >> _windows()
        | "Count" >> hr.combiners.Count.PerElement()
        | "To counts" >> hr.Map(_counted)
    )
    _ = counts | "To Redis" >> hr.Write(CountSink(redis_url))


def _windows() -> Any:
    """A count after each batch that changes it, also after late events."""
    return hr.WindowInto(
        hr.window.FixedWindows(WINDOW),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=LATEST + 1,
    )


def _campaign(view: Mapping[str, str], ad: Mapping[str, str]) -> str:
    return ad["campaign"]


def _counted(pair: tuple[str, int], window: Any = hr.DoFn.WindowParam) -> tuple[str, int, int]:
    campaign, count = pair
    return campaign, int(float(window.start)), count


@contextmanager
def running(brokers: str, redis_url: str, flags: Sequence[str], topic: str) -> Iterator[Any]:
    """Run the pipeline, and cancel it at the end."""
    size = [f"--max-records-per-batch={MOST}", "--batch-seconds=0"]
    p = hr.Pipeline(argv=["--streaming", *size, *flags])
    build(p, brokers, topic, redis_url)
    run = p.run()
    try:
        yield run
    finally:
        run.cancel()
