"""The methods of DoFns that take or emit batches (Beam's names)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar

from headrace.errors import TypeCheckError, UnsupportedError
from headrace.sdk.elements.type_variables import TypeHint
from headrace.sdk.typehints.batches import Batches, batching_of, element_type_of
from headrace.sdk.typehints.hints import hint_name, normalized
from headrace.sdk.typehints.io_hints import IOTypeHints, hints_of
from headrace.sdk.typehints.signatures import asks_for_metadata, get_signature

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

_SUPPORTED = ("TimestampParam", "WindowParam", "PaneInfoParam", "DiffParam", "ElementParam")


def undefined(method: MethodT) -> MethodT:
    """Mark a method that only subclasses define; it is not abstract, because one of two is enough."""
    return _with_mark(method, "_undefined")


def _with_mark(method: MethodT, mark: str) -> MethodT:
    setattr(method, mark, True)
    return method


class BatchMethods:
    """The methods of a DoFn that takes or emits batches.

    All elements of a batch have the same timestamp, windows, pane and diff, which the elements of a batch
    that is emitted for it have, too.
    """

    process: Any

    @undefined
    def process_batch(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        """Process a batch of elements: a list or a numpy array, by the annotation of the parameter.

        Returns:
            An iterable of batches, or None; of elements with :meth:`yields_elements`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define process_batch")

    @staticmethod
    def yields_batches(method: MethodT) -> MethodT:
        """Mark a ``process`` that emits batches instead of elements."""
        return _marked(method, "_yields_batches")

    @staticmethod
    def yields_elements(method: MethodT) -> MethodT:
        """Mark a ``process_batch`` that emits elements instead of batches."""
        return _marked(method, "_yields_elements")

    def get_input_batch_type(self, input_element_type: Any) -> Any:
        """Return the type of batches that ``process_batch`` takes; None without that method.

        Subclasses can override it; by default it is the annotation of the first parameter.

        Args:
            input_element_type: the known type of the elements.

        Raises:
            TypeCheckError: there is no annotation.
        """
        if not self._process_batch_defined:
            return None
        first = next(iter(get_signature(self.process_batch).parameters.values()), None)
        if first is None or first.annotation is Parameter.empty:
            raise TypeCheckError(
                f"{type(self).__name__}.process_batch has no annotation of its first parameter, so the "
                "type of its batches is unknown",
                remedy="annotate it, such as `batch: list[int]`, or define get_input_batch_type",
            )
        return first.annotation

    def get_output_batch_type(self, input_element_type: Any) -> Any:
        """Return the type of batches that the DoFn emits; None if it emits none, or if it is unknown.

        Subclasses can override it; by default it is the annotation of the result.

        Args:
            input_element_type: the known type of the elements.

        Raises:
            TypeCheckError: ``process`` and ``process_batch`` are annotated to emit different types.
        """
        found = [
            hint
            for name, hint in self._outputs().items()
            if hint is not None and (name == "process") == self._process_yields_batches
        ]
        return found[-1] if found and self._can_yield_batches else None

    def _outputs(self) -> dict[str, Any]:
        """Return the annotated types of outputs by the method that emits them; None for unknown ones."""
        methods = {"process": self._process_defined, "process_batch": self._process_batch_defined}
        return {name: _item_hint(getattr(self, name)) for name, known in methods.items() if known}

    @property
    def _process_defined(self) -> bool:
        return _is_defined(self, "process")

    @property
    def _process_batch_defined(self) -> bool:
        return _is_defined(self, "process_batch")

    @property
    def _process_yields_batches(self) -> bool:
        return getattr(self.process, "_yields_batches", False)

    @property
    def _process_batch_yields_elements(self) -> bool:
        return getattr(self.process_batch, "_yields_elements", False)

    @property
    def _can_yield_batches(self) -> bool:
        from_batches = self._process_batch_defined and not self._process_batch_yields_elements
        return from_batches or (self._process_defined and self._process_yields_batches)

    def _get_input_batch_type_normalized(self, input_element_type: Any) -> Any:
        return normalized(self.get_input_batch_type(input_element_type))

    def _get_output_batch_type_normalized(self, input_element_type: Any) -> Any:
        return normalized(self.get_output_batch_type(input_element_type))


def _marked(method: MethodT, mark: str) -> MethodT:
    if method.__name__ not in ("process", "process_batch"):
        raise TypeError(f"{mark[1:]} is for process or process_batch, not {method.__name__}")
    return _with_mark(method, mark)


def _is_defined(dofn: object, name: str) -> bool:
    """Return whether a class, or the object itself, defines a method."""
    method = getattr(dofn, name)
    return not getattr(method, "_undefined", False)


def _item_hint(method: Callable[..., object]) -> object:
    hints: IOTypeHints = hints_of(method).strip_iterable().extract_tagged_outputs()
    found = hints.simple_output_type(method.__name__)
    return None if found is Any else found


def batches_of(dofn: BatchMethods, element_type: TypeHint) -> Batches | None:
    """Return what a DoFn has to do with batches; None for nothing.

    If it defines both ``process`` and ``process_batch``, the latter is called.

    Args:
        dofn: the DoFn.
        element_type: the known type of its input elements.

    Raises:
        TypeCheckError: the elements do not fit into the batches, or the two methods emit different types.
        UnsupportedError: ``process_batch`` asks for a parameter that batches do not have.
    """
    if not dofn._process_batch_defined:
        return Batches(None, True) if dofn._process_yields_batches else None
    name = f"{type(dofn).__name__}.process_batch"
    _check_parameters(name, dofn.process_batch)
    _check_outputs(dofn)
    batching = batching_of(name, element_type, dofn.get_input_batch_type(element_type))
    return Batches(batching, not dofn._process_batch_yields_elements)


def output_element_type(dofn: BatchMethods, element_type: TypeHint) -> Any:
    """Return the known type of the elements that a DoFn with batches emits."""
    if dofn._can_yield_batches:
        return element_type_of(dofn._get_output_batch_type_normalized(element_type))
    return dofn._outputs().get("process_batch") or Any


def _check_parameters(name: str, method: Callable[..., object]) -> None:
    for parameter in signature(method).parameters.values():
        asked = parameter.default
        if asks_for_metadata(parameter) and asked.name not in _SUPPORTED:
            raise UnsupportedError(
                f"{name} asks for {asked!r}, which a batch does not have",
                remedy=f"define process, or ask for one of {', '.join(_SUPPORTED)}",
            )


def _check_outputs(dofn: BatchMethods) -> None:
    found = dofn._outputs()
    if len(found) < 2 or None in found.values():
        return
    kinds = dict(found)
    if dofn._process_yields_batches:
        kinds["process"] = element_type_of(found["process"])
    if not dofn._process_batch_yields_elements:
        kinds["process_batch"] = element_type_of(found["process_batch"])
    if len(set(kinds.values())) > 1:
        both = ", ".join(f"{name}: {hint_name(hint)}" for name, hint in found.items())
        raise TypeCheckError(
            f"{type(dofn).__name__} emits different types from its two methods: {both}",
            remedy="annotate process and process_batch with results of the same elements",
        )
