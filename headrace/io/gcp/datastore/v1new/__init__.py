"""Datastore, under Beam's name for the package."""
