"""Options of all pipelines that are created in a block, for pipelines whose options are not given."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, Final

from headrace.sdk.options.pipeline_options import PipelineOptions

_OVERRIDES: Final[ContextVar[tuple[dict[str, Any], ...]]] = ContextVar("overrides", default=())


class OptionsContext(ContextDecorator):
    """Sets options of the pipelines that are created in a block or a function (Beam's name).

    It is for pipelines that are created implicitly: ``[1, 2] | Map(fn)``.

    Args:
        options: the options by name.

    >>> with OptionsContext(pipeline_type_check=False):
    ...     ["a"] | Map(str.upper)
    ['A']
    """

    def __init__(self, **options: Any) -> None:
        self._options = options

    def __enter__(self) -> OptionsContext:
        """Set the options."""
        _OVERRIDES.set((*_OVERRIDES.get(), self._options))
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the options of before."""
        _OVERRIDES.set(_OVERRIDES.get()[:-1])


def with_context(options: PipelineOptions) -> PipelineOptions:
    """Set the options of the surrounding :class:`OptionsContext` blocks, and return the options."""
    for overrides in _OVERRIDES.get():
        options._values.update(overrides)
    return options
