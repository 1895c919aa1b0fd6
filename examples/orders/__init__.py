"""Hourly revenue of paid orders, corrected when an order is cancelled days later.

``events`` makes orders, payments and cancellations, ``topics`` writes them to Kafka, ``job`` is the pipeline,
``answers`` computes the same revenue in plain Python, and ``report`` shows a table before and after.
"""
