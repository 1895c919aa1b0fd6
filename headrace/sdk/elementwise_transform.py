"""The base of element-wise transforms: one node, several outputs, dead letters."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, Generic

import attrs

from headrace.errors import PipelineError
from headrace.sdk.elementwise import (
    CatchEach,
    Elementwise,
    StampEach,
)
from headrace.sdk.exception_handling import ExceptionHandling
from headrace.sdk.graph import MAIN, Collection
from headrace.sdk.pardo_node import output_like_input, pardo_node
from headrace.sdk.pvalue import (
    DoOutputsTuple,
    PCollection,
    require_collection,
)
from headrace.sdk.side_inputs import arguments_of, refuse_collections
from headrace.sdk.transform import PTransform, callable_label
from headrace.sdk.type_variables import InT, OutT
from headrace.windowing.time import Timestamp
from headrace.windowing.window_fn import WindowFn


class ElementwiseTransform(PTransform[PCollection[InT], PCollection[OutT]], Generic[InT, OutT]):
    """Base of Map, FlatMap, Filter, ParDo and the like: a transform that becomes a single ParDo node.

    Args:
        fn: the function, for the label.
        kind: the operation of the node on each element.
        typed: returns the known type of outputs, given that of inputs.
    """

    def __init__(
        self, fn: Any, kind: Elementwise, typed: Callable[[Any], Any] = lambda kind: Any
    ) -> None:
        super().__init__()
        refuse_collections(arguments_of(kind))
        self._fn = fn
        self._kind = kind
        self._typed = typed

    def default_label(self) -> str:
        return f"{type(self).__name__}({callable_label(self._fn)})"

    def with_outputs(
        self, *tags: str, main: str | None = None, allow_unknown_tags: bool | None = None
    ) -> WithOutputs[InT]:
        """Return the transform with several outputs.

        Args:
            tags: names of the outputs besides the main one; without any, every tag is allowed.
            main: a name for the main output.
            allow_unknown_tags: whether other tags are allowed; by default only if ``tags`` is empty.

        >>> ParDo(DoFn()).with_outputs("errors", main="good").label
        'ParDo(DoFn)'
        """
        dynamic = not tags if allow_unknown_tags is None else allow_unknown_tags
        return WithOutputs(self, tags, main, dynamic)

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: type[BaseException] | tuple[type[BaseException], ...] = Exception,
        partial: bool = False,
        threshold: float = 1,
        threshold_windowing: WindowFn | None = None,
        on_failure_callback: Callable[[Exception, Any], object] | None = None,
        **beam_args: Any,
    ) -> ExceptionHandling[InT]:
        """Return the transform with a second output, for the elements on which its function raises.

        An element of this output is ``(element, (type of the exception, its repr, lines of its
        traceback))``. The arguments are those of
        :class:`~headrace.sdk.exception_handling.ExceptionHandling`.

        >>> with Pipeline() as p:
        ...     words = p | Create(["7", "seven"])
        ...     good, bad = words | Map(int).with_exception_handling()
        ...     _ = good | Map(print)
        ...     _ = bad | "Bad" >> MapTuple(lambda word, error: print(word, error[1]))
        7
        seven ValueError("invalid literal for int() with base 10: 'seven'")
        """
        return ExceptionHandling(
            self,
            main_tag,
            dead_letter_tag,
            exc_class=exc_class,
            partial=partial,
            threshold=threshold,
            threshold_windowing=threshold_windowing,
            on_failure_callback=on_failure_callback,
            **beam_args,
        )

    def caught(self, tag: str, **how: Any) -> ElementwiseTransform[InT, OutT]:
        """Return the transform with a dead letter for each failure (see :class:`CatchEach`)."""
        catching = copy(self)
        catching._kind = CatchEach(_with_checked_timestamps(self._kind), tag, **how)
        return catching

    def expand(self, pcoll: PCollection[InT]) -> PCollection[OutT]:
        return self.expand_tags(pcoll, ())

    def expand_tags(self, pcoll: PCollection[Any], tags: tuple[str, ...]) -> PCollection[Any]:
        """Add the node with additional outputs, and return the main one."""
        require_collection(pcoll)
        main = self.evolved(output_like_input(pcoll, self._type(pcoll)))
        return pardo_node(pcoll, self._kind, main, tags)

    def evolved(self, output: Collection) -> Collection:
        """Return the main output of the node, given the collection that it inherits from the input."""
        return output

    def _type(self, pcoll: PCollection[Any]) -> Any:
        if self.output_type is not None:
            return self.output_type
        return self._typed(pcoll.element_type)


class WithOutputs(PTransform[PCollection[InT], DoOutputsTuple], Generic[InT]):
    """An element-wise transform with several outputs (see :meth:`ElementwiseTransform.with_outputs`)."""

    def __init__(
        self,
        transform: ElementwiseTransform[InT, Any],
        tags: tuple[str, ...],
        main: str | None,
        dynamic: bool,
    ) -> None:
        super().__init__()
        self._transform = transform
        self._tags = tuple(map(str, tags))
        self._main = main
        self._dynamic = dynamic
        for tag in self._tags:
            if tag in (main, MAIN) or self._tags.count(tag) > 1:
                raise PipelineError(
                    f"the output tag {tag!r} is used twice",
                    remedy="use a different tag for each output",
                )

    def default_label(self) -> str:
        return self._transform.label

    def with_exception_handling(
        self, main_tag: str | None = None, dead_letter_tag: str = "bad", **how: Any
    ) -> ExceptionHandling[InT]:
        """Return the transform with an additional output, for the elements on which its function raises."""
        handling = self._transform.with_exception_handling(
            main_tag or self._main or "good", dead_letter_tag, **how
        )
        return handling.with_outputs(*self._tags)

    def expand(self, pcoll: PCollection[InT]) -> DoOutputsTuple:
        main = self._transform.expand_tags(pcoll, self._tags)
        return DoOutputsTuple(
            pcoll.pipeline, main.collection.node, self._tags, self._main, self._dynamic
        )


def _with_checked_timestamps(kind: Any) -> Any:
    """Let a function that returns timestamps raise an error if its result is not a timestamp."""
    if not isinstance(kind, StampEach):
        return kind
    fn = kind.function.fn

    @wraps(fn)
    def stamp(*args: Any, **kwargs: Any) -> Timestamp:
        return Timestamp.of(fn(*args, **kwargs))

    return StampEach(attrs.evolve(kind.function, fn=stamp))
