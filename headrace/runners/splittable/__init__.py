"""Splittable DoFns at work: keys that are restrictions, and the calls of ``process`` with trackers."""
