"""Groupings: GroupByKey, the windows of the next grouping, and functions that combine values."""
