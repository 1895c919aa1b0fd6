"""A pipeline for tests: its options come from the test, not from the command line."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final
from unittest import SkipTest

from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.pipeline import Pipeline
from headrace.sdk.pipelines.result import PipelineResult, PipelineState
from headrace.sdk.pipelines.runner_lookup import Runner

_PARSER: Final = ArgumentParser(add_help=False, allow_abbrev=False)
_PARSER.add_argument("--test-pipeline-options")


class TestPipeline(Pipeline):
    """A pipeline that ignores the command line and waits for its run (Beam's name).

    It refuses functions that change their inputs or outputs, unless ``--no-check-mutation`` is set.

    Args:
        runner: name of the runner, "local" by default.
        options: the options; none by default.
        argv: flags, if ``options`` is not given. The flag ``--test-pipeline-options="…"`` has flags in it,
            as in Beam.
        is_integration_test: whether to skip the test if there are no flags.
        blocking: whether ``run`` waits for the end.
        additional_pipeline_args: additional flags.
        display_data: see :class:`~headrace.Pipeline`.
        timeout: maximum time to wait for the end of a run with an unbounded source, in milliseconds; then
            the run is cancelled, and the test fails.
        observers: are told what happens in the run.

    Attributes:
        pytest_test_pipeline_options: flags for all pipelines without ``argv``, as one string; for a
            ``conftest.py`` to set.
        options_list: the flags.

    Raises:
        SkipTest: it is an integration test, and there are no flags.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([1]) | Map(print)
    1
    """

    __test__: ClassVar[bool] = False  # pytest must not collect it as a test

    pytest_test_pipeline_options: ClassVar[str | None] = None

    def __init__(
        self,
        runner: str | Runner | None = None,
        options: PipelineOptions | None = None,
        argv: list[str] | None = None,
        is_integration_test: bool = False,
        blocking: bool = True,
        additional_pipeline_args: list[str] | None = None,
        display_data: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        observers: Sequence[RunObserver] = (),
    ) -> None:
        given = self.get_options_list(argv or ())
        if is_integration_test and not given:
            raise SkipTest("an integration test needs --test-pipeline-options")
        self.options_list = [*given, *(additional_pipeline_args or ())]
        options = options if options is not None else PipelineOptions(self.options_list)
        super().__init__(runner, options, observers=observers, display_data=display_data)
        self._blocking = blocking
        self._timeout = timeout
        standard = self.options.view_as(StandardOptions)
        if standard.check_mutation is None:
            standard.check_mutation = True

    def run(self, test_runner_api: object = None, *, replace: bool = False) -> PipelineResult:
        """Run the pipeline and, if blocking, wait for its end.

        Args:
            test_runner_api: ignored; accepted for compatibility with Beam.
            replace: as for :meth:`Pipeline.run`.

        Raises:
            AssertionError: it has not ended in time.
        """
        result = super().run(replace=replace)
        if self._blocking:
            state = result.wait_until_finish(self._timeout)
            if self._timeout is not None and not PipelineState.is_terminal(state):
                result.cancel()
                raise AssertionError(f"the pipeline has not ended within {self._timeout} ms")
        return result

    @classmethod
    def get_options_list(cls, argv: Sequence[str] = ()) -> list[str]:
        """Return flags, with the flags in ``--test-pipeline-options`` in place of it.

        >>> TestPipeline.get_options_list(["--test-pipeline-options", "--streaming --wheels=3"])
        ['--streaming', '--wheels=3']
        """
        known, others = _PARSER.parse_known_args(list(argv))
        given = known.test_pipeline_options
        flags = cls.pytest_test_pipeline_options if given is None else given
        return [*shlex.split(flags or ""), *others]

    def get_pipeline_options(self) -> PipelineOptions:
        """Return the options of the pipeline."""
        return self.options

    def get_full_options_as_args(self, **extra_opts: Any) -> list[str]:
        """Return the flags, and others for options by name; one that is true has no value.

        >>> TestPipeline(argv=["--wheels=3"]).get_full_options_as_args(
        ...     streaming=True, stones="hard"
        ... )
        ['--wheels=3', '--streaming', '--stones=hard']
        """
        given = ((name, value) for name, value in extra_opts.items() if value)
        more = (f"--{name}" if value is True else f"--{name}={value}" for name, value in given)
        return [*self.options_list, *more]

    def get_option(self, opt_name: str, bool_option: bool = False) -> Any:
        """Return the value of a flag; None if it is not given.

        Args:
            opt_name: name of the flag.
            bool_option: whether it has no value, so that the result is True or False.

        >>> TestPipeline(argv=["--wheels=3"]).get_option("wheels")
        '3'
        """
        parser = ArgumentParser(add_help=False, allow_abbrev=False)
        action = "store_true" if bool_option else "store"
        parser.add_argument(f"--{opt_name.removeprefix('--')}", dest="option", action=action)
        return parser.parse_known_args(self.options_list)[0].option
