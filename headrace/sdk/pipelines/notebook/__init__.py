"""Pipelines and collections in notebooks: how they show themselves, and cells that run again."""
