# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Kafka, under Beam's path."""

from headrace.sdk.io.kafka.read_from_kafka import ReadFromKafka
from headrace.sdk.io.kafka.write_to_kafka import WriteToKafka

__all__ = ["ReadFromKafka", "WriteToKafka"]
