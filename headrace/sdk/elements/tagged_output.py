"""TaggedOutput: a value for an output other than the main output (Beam's name)."""

from __future__ import annotations

from typing import Any, Generic

from headrace.sdk.elements.type_variables import TaggedT, TagT


class TaggedOutput(Generic[TagT, TaggedT]):
    """A value for an output other than the main output of a DoFn (Beam's name).

    In annotations, ``TaggedOutput[Literal["errors"], str]`` is the type of the output with this tag.

    Args:
        tag: name of the output, as in ``ParDo(…).with_outputs(tag)``.
        value: the value; can be a TimestampedValue or WindowedValue.

    >>> TaggedOutput("errors", 7)
    TaggedOutput('errors', 7)
    """

    __slots__ = ("tag", "value")

    def __init__(self, tag: str, value: Any) -> None:
        self.tag = tag
        self.value = value

    def __repr__(self) -> str:
        """Show the expression that creates it."""
        return f"TaggedOutput({self.tag!r}, {self.value!r})"
