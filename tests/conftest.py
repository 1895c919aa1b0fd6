"""The runner that a test of the semantics runs on; how hard hypothesis looks.

The latter is chosen with HEADRACE_PROFILE=fast|ci|deep, or as a number of cases for each test with
HEADRACE_CASES.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fast", max_examples=100, deadline=None)
settings.register_profile("ci", settings.get_profile("fast"), derandomize=True, print_blob=True)
settings.register_profile(
    "deep",
    settings.get_profile("fast"),
    max_examples=5_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "cases", settings.get_profile("deep"), max_examples=int(os.environ.get("HEADRACE_CASES", "100"))
)
PROFILE = "cases" if "HEADRACE_CASES" in os.environ else "ci" if os.environ.get("CI") else "fast"
settings.load_profile(os.environ.get("HEADRACE_PROFILE", PROFILE))


@pytest.fixture(params=["local"])
def runner(request: pytest.FixtureRequest) -> str:
    """The name of each runner that the semantics are tested on."""
    return str(request.param)
