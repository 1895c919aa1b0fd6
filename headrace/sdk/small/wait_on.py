"""WaitOn: elements that wait until other collections are complete (Beam's name; Wait.on in its Java SDK)."""

from __future__ import annotations

from typing import Any

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import T
from headrace.sdk.pardo.side_inputs import AsIter
from headrace.sdk.pardo.transforms import FlatMap, Map
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform


class WaitOn(PTransform[PCollection[Any], PCollection[Any]]):
    """Emits each element once other collections are complete in its window.

    Use it to read what another branch has written: let that branch emit something for each write, and wait
    on its output. The collections are side inputs, so their windows must not merge, and an unbounded one
    needs windows or a trigger; then its first pane ends the wait.

    Args:
        to_be_waited_on: the collections to wait for.

    Raises:
        PipelineError: there is none, or one is not a collection.

    >>> with Pipeline() as p:
    ...     written = p | "Rows" >> Create([1, 2]) | "Write" >> Map(lambda row: print("write", row))
    ...     _ = p | Create(["read"]) | WaitOn(written) | "Show" >> Map(print)
    write 1
    write 2
    read
    """

    def __init__(self, *to_be_waited_on: PCollection[Any]) -> None:
        super().__init__()
        for signal in to_be_waited_on:
            if not isinstance(signal, PCollection):
                raise PipelineError(
                    f"{shorten(signal)} is not a collection, so nothing can wait on it",
                    remedy="wait on a collection that is complete when the work is done",
                )
        if not to_be_waited_on:
            raise PipelineError(
                "WaitOn has no collection to wait on", remedy="pass it: WaitOn(written)"
            )
        self._signals = to_be_waited_on

    def expand(self, pcoll: PCollection[T]) -> PCollection[T]:
        require_collection(pcoll)
        sides = [
            AsIter(signal | f"WaitOn{number}" >> FlatMap(_nothing))
            for number, signal in enumerate(self._signals)
        ]
        wait: Any = Map(_element, *sides)
        waited: PCollection[T] = pcoll | "Wait" >> wait.with_output_types(pcoll.element_type)
        return waited


class Wait:
    """Beam's Java name for :class:`WaitOn`.

    >>> with Pipeline() as p:
    ...     written = p | "Rows" >> Create([1]) | "Write" >> Map(lambda row: print("write", row))
    ...     _ = p | Create(["read"]) | Wait.on(written) | "Show" >> Map(print)
    write 1
    read
    """

    @staticmethod
    def on(*signals: PCollection[Any]) -> WaitOn:
        """Return a transform that emits each element once other collections are complete in its window.

        Args:
            signals: the collections to wait for.

        Raises:
            PipelineError: there is none, or one is not a collection.
        """
        return WaitOn(*signals)


def _nothing(element: object) -> tuple[()]:
    return ()


def _element(element: object, *sides: object) -> Any:
    return element
