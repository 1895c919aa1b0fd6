"""Error handlers: one consumer for the dead letters of several transforms (Beam's names)."""

from __future__ import annotations

from traceback import extract_stack
from types import TracebackType
from typing import Any, Self

from headrace.errors import PipelineError, shorten
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform


class ErrorHandlerError(PipelineError, RuntimeError):
    """An error handler whose dead letters would be lost.

    >>> from headrace.transforms.error_handling import ErrorHandler
    >>> with Pipeline() as p:
    ...     handler = ErrorHandler(Map(print))
    ...     _ = p | Create(["1", "x"]) | Map(int).with_error_handler(handler)
    Traceback (most recent call last):
    headrace.sdk.pardo.error_handling.ErrorHandlerError: Unclosed error handler...
    """


class ErrorHandler:
    """Applies a transform to the dead letters of all transforms that are given this handler.

    Use it in a ``with`` statement, at whose end the transform is applied. A transform of your own calls
    :meth:`add_error_pcollection` in ``expand``.

    Args:
        consumer: the transform for the dead letters.

    >>> from headrace.transforms.error_handling import ErrorHandler
    >>> with Pipeline() as p:
    ...     lines = p | Create(["7", "x"])
    ...     with ErrorHandler(MapTuple(lambda line, error: print("bad:", line))) as handler:
    ...         _ = lines | Map(int).with_error_handler(handler) | Map(print)
    7
    bad: x
    """

    def __init__(self, consumer: PTransform[Any, Any]) -> None:
        if not isinstance(consumer, PTransform):
            raise TypeError(f"an ErrorHandler needs a transform, not {shorten(consumer)}")
        self._consumer = consumer
        self._created_at = _place()
        self._errors: list[PCollection[object]] = []
        self._output: Any = None
        self._closed = False

    def __enter__(self) -> Self:
        """Start to collect dead letters."""
        self._errors, self._closed = [], False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Apply the consumer, unless building the pipeline failed."""
        if kind is None:
            self.close()

    def add_error_pcollection(self, pcoll: PCollection[object]) -> None:
        """Add a collection of dead letters."""
        require_collection(pcoll)
        self._errors.append(pcoll)
        register: Any = pcoll.pipeline
        register.add_error_handler(self)

    def close(self) -> None:
        """Apply the consumer to all dead letters; no more can be added."""
        self._closed = True
        if self._errors:
            pipeline: Any = self._errors[0].pipeline
            merge = pipeline.free_label("Flatten(errors)")
            errors = tuple(self._errors) | merge >> Flatten()
            self._output = errors | pipeline.free_label(self._consumer.label) >> self._consumer

    def output(self) -> Any:
        """Return the result of the consumer.

        Raises:
            ErrorHandlerError: the handler is not closed, or no transform uses it.
        """
        if not self._closed:
            raise ErrorHandlerError(
                "the output of an error handler does not exist until it is closed",
                remedy="ask for it after the with statement of the handler",
            )
        if not self._errors:
            raise ErrorHandlerError(
                "no transform has added dead letters to the error handler",
                remedy="pass it to with_error_handler of a transform",
            )
        return self._output

    def verify_closed(self) -> None:
        """Check that the dead letters are consumed; the pipeline calls this before it runs.

        Raises:
            ErrorHandlerError: the handler is not closed.
        """
        if not self._closed:
            raise ErrorHandlerError(
                f"Unclosed error handler, created at {self._created_at}: its dead letters would be lost",
                remedy="use it in a with statement, or call close()",
            )


class CollectingErrorHandler(ErrorHandler):
    """Collects the dead letters of several transforms as one collection, ``output()``.

    >>> from headrace.transforms.error_handling import CollectingErrorHandler
    >>> with Pipeline() as p:
    ...     lines = p | Create(["7", "x"])
    ...     with CollectingErrorHandler() as handler:
    ...         _ = lines | Map(int).with_error_handler(handler)
    ...     _ = handler.output() | MapTuple(lambda line, error: print("bad:", line))
    bad: x
    """

    def __init__(self) -> None:
        super().__init__(_Unchanged())
        self._created_at = _place()
        self._retrieved = False

    def output(self) -> Any:
        self._retrieved = True
        return super().output()

    def verify_closed(self) -> None:
        if not self._retrieved:
            raise ErrorHandlerError(
                "CollectingErrorHandler requires the output to be retrieved. It was created at "
                f"{self._created_at}",
                remedy="use handler.output(), or hr.transforms.error_handling.ErrorHandler",
            )
        super().verify_closed()


class _Unchanged(PTransform[PCollection[Any], PCollection[Any]]):
    """Returns its input."""

    def default_label(self) -> str:
        return "Errors"

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        return pcoll


def _place() -> str:
    """Return the line that creates a handler."""
    frame = extract_stack(limit=3)[0]
    return f"{frame.filename}, line {frame.lineno}"
