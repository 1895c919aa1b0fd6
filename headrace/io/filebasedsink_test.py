"""The base class of tests with temporary directories, under Beam's module path."""

from headrace.sdk.testing.temp_dirs import TempDirTestCase as _TestCaseWithTempDirCleanUp

__all__ = ["_TestCaseWithTempDirCleanUp"]
