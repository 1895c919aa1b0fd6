"""Tests of Kafka's source and serdes with a broker that the tests start."""
