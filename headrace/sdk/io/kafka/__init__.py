"""Kafka: sources and sinks with one client, confluent-kafka, on every runner."""
