# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Kafka, under Beam's path."""

from headrace.sdk.io.kafka.read_from_kafka import ReadFromKafka

__all__ = ["ReadFromKafka"]
