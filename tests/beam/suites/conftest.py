"""The marks that Beam's own tests have."""

MARKS = (
    "it_validatesrunner",
    "it_validatescontainer",
    "it_postcommit",
    "no_sickbay_batch",
    "no_sickbay_streaming",
    "sickbay_streaming",
    "no_xdist",
    "uses_testgcs",
    "timeout",
)


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: of Beam's tests")
