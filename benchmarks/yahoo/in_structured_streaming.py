"""The benchmark as a query of Structured Streaming, with Spark's own source of Kafka."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession, functions as F

from benchmarks.yahoo.events import LATEST, WINDOW
from benchmarks.yahoo.stored_counts import CountStore

SCHEMA: Final = (
    "user_id string, page_id string, ad_id string, ad_type string, event_type string,"
    " event_time long, ip_address string"
)


def start(spark: SparkSession, brokers: str, topic: str, redis_url: str) -> Any:
    """Start the query, which writes the counts that a batch has changed."""
    store = CountStore(redis_url)
    campaigns = list(store.campaigns().items())

    def write(batch: DataFrame, _: int) -> None:
        store.write((row.campaign, row.start, row["count"]) for row in batch.collect())

    ads = spark.createDataFrame(campaigns, "ad_id string, campaign string")
    counts = _counts(_views(spark, brokers, topic), ads)
    writer = counts.writeStream.outputMode("update").foreachBatch(write)
    return writer.option("checkpointLocation", str(Path(mkdtemp(), "checkpoint"))).start()


def _views(spark: SparkSession, brokers: str, topic: str) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": brokers,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    messages = spark.readStream.format("kafka").options(**options).load()
    parsed = F.from_json(F.col("value").cast("string"), SCHEMA).alias("event")
    views = messages.select(parsed).select("event.*").where("event_type = 'view'")
    return views.select("ad_id", F.timestamp_millis("event_time").alias("at"))


def _counts(views: DataFrame, ads: DataFrame) -> DataFrame:
    window = F.window("at", f"{WINDOW} seconds").alias("window")
    joined = views.join(F.broadcast(ads), "ad_id")
    found = joined.withWatermark("at", f"{LATEST + 1} seconds").groupBy("campaign", window).count()
    start = F.col("window.start").cast("long").alias("start")
    return found.select("campaign", start, "count")
