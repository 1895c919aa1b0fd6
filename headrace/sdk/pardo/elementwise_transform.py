"""The base of element-wise transforms: one node, several outputs, dead letters."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, Generic

import attrs

from headrace.errors import PipelineError, TypeCheckError, UnsupportedError
from headrace.sdk.elements.type_variables import InT, OutT
from headrace.sdk.pardo.call_types import Call
from headrace.sdk.pardo.exception_handling import DeadLetter, ExceptionHandling, TakesErrors
from headrace.sdk.pardo.pardo_node import output_like_input, pardo_node
from headrace.sdk.pardo.side_inputs import arguments_of, refuse_collections
from headrace.sdk.pipelines.elementwise import (
    CatchEach,
    Elementwise,
    FieldsEach,
    Function,
    ProcessEach,
    StampEach,
    WhereEach,
)
from headrace.sdk.pipelines.graph import MAIN, Collection
from headrace.sdk.pipelines.pvalue import (
    DoOutputsTuple,
    PCollection,
    require_collection,
)
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.consistency import items_of_tuple
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.sdk.typehints.io_hints import IOTypeHints, hints_of
from headrace.sdk.typehints.labels import callable_label
from headrace.sdk.typehints.outputs import emitted
from headrace.sdk.typehints.signatures import Types
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window_fn import WindowFn


class ElementwiseTransform(PTransform[PCollection[InT], PCollection[OutT]], Generic[InT, OutT]):
    """Base of Map, FlatMap, Filter, ParDo and the like: a transform that becomes a single ParDo node.

    Args:
        fn: the function, for the label.
        kind: the operation of the node on each element.
        typed: returns the known type of outputs, given the type of inputs.
    """

    def __init__(
        self, fn: Any, kind: Elementwise, typed: Callable[[Any], Any] = lambda kind: Any
    ) -> None:
        super().__init__()
        refuse_collections(arguments_of(kind))
        self._fn = fn
        self._kind = kind
        self._typed = typed

    @property
    def fn(self) -> Any:
        """The function or DoFn.

        >>> ParDo(DoFn()).fn.default_label()
        'DoFn'
        """
        return self._fn

    def default_label(self) -> str:
        return f"{type(self).__name__}({callable_label(self._fn)})"

    def display_data(self) -> dict[str, Any]:
        if isinstance(self._fn, HasDisplayData):
            return {"fn": type(self._fn), "fn_dd": self._fn}
        return {"fn": callable_label(self._fn)}

    def with_outputs(
        self, *tags: str, main: str | None = None, allow_unknown_tags: bool | None = None
    ) -> WithOutputs[InT]:
        """Return the transform with several outputs.

        Args:
            tags: names of the outputs besides the main one; without any, every tag is allowed, and values
                with tags that nothing reads are dropped.
            main: a name for the main output.
            allow_unknown_tags: whether other tags are allowed; by default only if ``tags`` is empty. A
                value with a tag that is not allowed is an ElementError.

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
        traceback))``. It takes the arguments of
        :class:`~headrace.sdk.pardo.exception_handling.ExceptionHandling`.

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

    def with_error_handler(
        self, error_handler: TakesErrors | None, **how: Any
    ) -> PTransform[PCollection[InT], PCollection[OutT]]:
        """Return the transform with an error handler, which gets its dead letters.

        Args:
            error_handler: see :class:`~headrace.transforms.error_handling.ErrorHandler`; None for none.
            how: other arguments of :meth:`with_exception_handling`.
        """
        if error_handler is None:
            return self
        handled: Any = self.with_exception_handling(error_handler=error_handler, **how)
        return handled  # type: ignore[no-any-return]  # with a handler its result is a collection

    def caught(self, tag: str, **how: Any) -> ElementwiseTransform[InT, OutT]:
        """Return the transform with a dead letter for each failure (see :class:`CatchEach`).

        Raises:
            UnsupportedError: the transform evaluates an expression.
        """
        if isinstance(self._kind, (WhereEach, FieldsEach)):
            raise UnsupportedError(
                f"{type(self).__name__} does not support exception handling for an expression, which is "
                "evaluated for many elements at once",
                remedy="use a function of the element in place of the expression",
            )
        catching = copy(self)
        catching._kind = CatchEach(_with_checked_timestamps(self._kind), tag, **how)
        return catching

    def expand(self, pcoll: PCollection[InT]) -> PCollection[OutT]:
        return self.expand_tags(pcoll, ())

    def expand_tags(self, pcoll: PCollection[object], tags: tuple[str, ...]) -> PCollection[Any]:
        """Add the node with additional outputs, and return the main one."""
        require_collection(pcoll)
        main = self.evolved(output_like_input(pcoll, self._type(pcoll)))
        types = self._types_of_tags(pcoll.element_type) if tags else {}
        return pardo_node(pcoll, self.kind_for(pcoll.element_type), main, tags, types)

    def kind_for(self, element_type: object) -> Elementwise:
        """Return the operation of the node for elements of a type."""
        return self._kind

    def evolved(self, output: Collection) -> Collection:
        """Return the main output of the node, given the collection that it inherits from the input."""
        return output

    def _type(self, pcoll: PCollection[object]) -> object:
        return self.infer_output_type(pcoll.element_type)

    def infer_output_type(self, input_type: object) -> Any:
        """Return the declared type of the outputs, or the function's type for elements of a type."""
        declared = self.output_type
        return self._typed(input_type) if declared is None else emitted(declared)[0]

    def _types_of_tags(self, element_type: object) -> dict[str, object]:
        """Return the known types of other outputs, by tag."""
        letter: Any = DeadLetter
        letters = {}
        if isinstance(self._kind, CatchEach):
            letters[self._kind.tag] = letter[element_type]
        try:
            found = self.get_type_hints().extract_tagged_outputs().tagged_output_types()
        except TypeCheckError:
            found = {}
        return {**found, **letters}

    def default_type_hints(self) -> IOTypeHints | None:
        """Return the hints of the function or DoFn."""
        function = _function_in(self._kind)
        return None if function is None else hints_of(function.fn)

    def get_type_hints(self) -> IOTypeHints:
        """Return the hints, whose origin names the transform."""
        found = super().get_type_hints()
        return found._replace(origin=[f"hints of {self.label}", *found.origin]) if found else found

    def type_check_inputs(self, pvalueish: object) -> None:
        """Refuse elements and arguments of types that the function does not take.

        Raises:
            TypeCheckError: the type of an argument does not suit the hint of its parameter.
        """
        if not isinstance(pvalueish, PCollection):
            return
        function = _function_in(self._kind)
        if function is None:
            return
        kind = pvalueish.element_type
        items = items_of_tuple(kind) if function.spread else None
        if function.spread and items is None:
            return
        Call(
            self.label,
            function.fn,
            self.get_type_hints(),
            [kind] if items is None else items,
            repr(pvalueish),
            function.args,
            function.kwargs,
        ).check()

    def type_check_outputs(self, pvalueish: Any) -> None:
        """Do nothing: the types of outputs are those that are declared."""

    def types_of_inputs(self) -> Types | None:
        """Return the hint of the element; None if there is none, or if the function takes its items."""
        function, types = _function_in(self._kind), self.get_type_hints().input_types
        if types is None or function is None or function.spread:
            return None
        return types[0][:1], {}


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
        return handling.with_outputs(*self._tags, allow_unknown_tags=self._dynamic)

    def expand(self, pcoll: PCollection[InT]) -> DoOutputsTuple:
        main = self._transform.expand_tags(pcoll, self._tags)
        node = main.collection.node
        if self._dynamic:
            pcoll.pipeline.accept_any_tag(node)
        return DoOutputsTuple(pcoll.pipeline, node, self._tags, self._main, self._dynamic)


def _function_in(kind: Elementwise) -> Function | None:
    """Return the function of an operation, with its arguments; None if it calls none."""
    each = kind.each if isinstance(kind, CatchEach) else kind
    if isinstance(each, ProcessEach):
        return Function(each.dofn.process, each.args, each.kwargs)
    return getattr(each, "function", None)


def _with_checked_timestamps(kind: object) -> Any:
    """Let a function that returns timestamps raise an error if its result is not a timestamp."""
    if not isinstance(kind, StampEach):
        return kind
    fn = kind.function.fn

    @wraps(fn)
    def stamp(*args: object, **kwargs: object) -> Timestamp:
        return Timestamp.of(fn(*args, **kwargs))

    return StampEach(attrs.evolve(kind.function, fn=stamp))
