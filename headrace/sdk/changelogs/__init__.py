"""Changelogs as collections: values and retractions from diffs, upserts and messages of databases.

Each transform is in a module of its name. :mod:`~headrace.sdk.changelogs.latest_rows` is the stateful step
that upserts, Debezium and PostgreSQL share: it keeps the row of each key, and emits what changes.
"""
