"""Beam's marks, for the tests of this folder."""

from tests.beam.suites.plugin import MARKS


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: of Beam's tests")
