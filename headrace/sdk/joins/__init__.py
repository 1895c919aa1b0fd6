"""Joins: CoGroupByKey, GroupBy and Select, as-of joins, and lookups in other systems."""
