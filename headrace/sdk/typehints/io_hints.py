"""The type hints of a function, DoFn or transform: of its inputs and of its outputs."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeVar

from headrace.sdk.typehints.hints import normalized
from headrace.sdk.typehints.outputs import emitted, item_hint
from headrace.sdk.typehints.signatures import Types, annotated_types

T = TypeVar("T")

_ORIGIN_FRAMES = 5
"""Number of frames of the program that an origin shows."""


class IOTypeHints(NamedTuple):
    """Hints of inputs and outputs (Beam's name).

    Attributes:
        input_types: the hints of the element and of the other arguments, by place and by name; or None.
        output_types: the hint of the output, and the hints of other outputs by tag; or None.
        origin: lines that say where the hints come from.

    >>> IOTypeHints.empty().with_input_types(str).with_output_types(int)
    IOTypeHints[inputs=((<class 'str'>,), {}), outputs=((<class 'int'>,), {})]
    """

    input_types: Types | None
    output_types: Types | None
    origin: list[str]

    @classmethod
    def empty(cls) -> IOTypeHints:
        """Return no hints."""
        return cls(None, None, [])

    @classmethod
    def from_callable(cls, fn: Callable[..., object]) -> IOTypeHints | None:
        """Return the hints in the annotations of a function; None if it has none.

        >>> def length(word: str) -> int: ...
        >>> IOTypeHints.from_callable(length).output_types
        ((<class 'int'>,), {})
        """
        found = annotated_types(fn)
        if found is None:
            return None
        inputs, outputs, signature = found
        name = getattr(fn, "__name__", "<unknown>")
        return cls(inputs, outputs, [f"annotations of {name}", f"  signature: {signature}"])

    def with_input_types(self, *types: Any, **named: Any) -> IOTypeHints:
        """Return the hints with other types of inputs."""
        return self._replace(input_types=_types(types, named), origin=self._origin())

    def with_output_types(self, *types: Any, **named: Any) -> IOTypeHints:
        """Return the hints with other types of outputs."""
        return self._replace(output_types=_types(types, named), origin=self._origin())

    def with_input_types_from(self, other: IOTypeHints) -> IOTypeHints:
        """Return the hints with the types of inputs of others."""
        return self._replace(input_types=other.input_types, origin=self._origin())

    def with_output_types_from(self, other: IOTypeHints) -> IOTypeHints:
        """Return the hints with the types of outputs of others."""
        return self._replace(output_types=other.output_types, origin=self._origin())

    def with_defaults(self, hints: IOTypeHints | None) -> IOTypeHints:
        """Return the hints, completed by others where they say nothing."""
        if not hints:
            return self
        if not self:
            return hints
        inputs = self.input_types if _says(self.input_types) else hints.input_types
        outputs = self.output_types if _says(self.output_types) else hints.output_types
        if (inputs, outputs) == (self.input_types, self.output_types):
            return self
        return IOTypeHints(inputs, outputs, _based_on(self, hints))

    def simple_output_type(self, context: str) -> Any:
        """Return the hint of the main output; None if there is none.

        Args:
            context: what has the hints, for the error.

        Raises:
            TypeError: there are several.
        """
        if self.output_types is None or not _says(self.output_types):
            return None
        if len(self.output_types[0]) != 1:
            raise TypeError(f"{context} has several output types: {self.output_types[0]}")
        return self.output_types[0][0]

    def has_simple_output_type(self) -> bool:
        """Return whether there is one hint for the main output."""
        return self.output_types is not None and len(self.output_types[0]) == 1

    def tagged_output_types(self) -> dict[str, Any]:
        """Return the hints of other outputs by tag."""
        return {} if self.output_types is None else self.output_types[1]

    def strip_iterable(self) -> IOTypeHints:
        """Return the hints of the items of the result, for functions that return iterables of outputs.

        Raises:
            TypeCheckError: the result is not an iterable of outputs.

        >>> def words(line: str) -> list[str]: ...
        >>> IOTypeHints.from_callable(words).strip_iterable().output_types
        ((<class 'str'>,), {})
        """
        if not self.has_simple_output_type():
            return self
        assert self.output_types is not None
        ((hint,), tags) = self.output_types
        if hint is None:
            return self
        return self._replace(output_types=((item_hint(hint),), tags))

    def extract_tagged_outputs(self) -> IOTypeHints:
        """Return the hints of values, without tags, timestamps and windows.

        A ``TaggedOutput[Literal["tag"], int]`` becomes the hint of the output with this tag.
        """
        if not self.has_simple_output_type():
            return self
        assert self.output_types is not None
        ((hint,), tags) = self.output_types
        main, found = emitted(hint)
        return self._replace(output_types=((main,), {**found, **tags}))

    def debug_str(self) -> str:
        """Return the hints, and where they come from."""
        return "\n".join([repr(self), *self.origin])

    def _origin(self) -> list[str]:
        """Return the lines of the program that declare hints."""
        frames = traceback.format_stack(limit=_ORIGIN_FRAMES + 2)[:-2]
        return [*(line for f in frames for line in f.strip().split("\n")), *_based_on(self)]

    def __bool__(self) -> bool:
        """Return whether there are any hints."""
        return _says(self.input_types) or _says(self.output_types)

    def __eq__(self, other: object) -> bool:
        """Compare the hints; where they come from does not matter."""
        if not isinstance(other, IOTypeHints):
            return NotImplemented
        return _same(self.input_types, other.input_types) and _same(
            self.output_types, other.output_types
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"IOTypeHints[inputs={self.input_types}, outputs={self.output_types}]"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the hints without the lines of the program."""
        return IOTypeHints, (self.input_types, self.output_types, [])


def _types(types: Iterable[object], named: dict[str, object]) -> Types:
    return tuple(map(normalized, types)), {name: normalized(t) for name, t in named.items()}


def _says(types: Types | None) -> bool:
    return types is not None and any(types)


def _same(one: Types | None, other: Types | None) -> bool:
    return one == other if _says(one) else not _says(other)


def _based_on(*bases: IOTypeHints) -> list[str]:
    """Return the origins of hints from which others are made."""
    with_origin = [base for base in bases if base.origin]
    lines: list[str] = []
    for base in with_origin:
        lines += ["", "and:" if lines else "based on:", f"  {base!r}"]
        lines += [f"  {line}" for line in base.origin]
    return lines


def declared_hints(target: object) -> IOTypeHints:
    """Return the hints that decorators have given to a function or class."""
    found = getattr(target, "_type_hints", None)
    return found if isinstance(found, IOTypeHints) else IOTypeHints.empty()


def hints_of(fn: Callable[..., Any]) -> IOTypeHints:
    """Return the hints of a function: declared by decorators, and else in its annotations.

    >>> def length(word: str) -> int: ...
    >>> hints_of(length).input_types
    ((<class 'str'>,), {})
    """
    return declared_hints(fn).with_defaults(IOTypeHints.from_callable(fn))


class WithTypeHints:
    """An object with type hints: a DoFn, CombineFn or transform (Beam's name)."""

    _type_hints: IOTypeHints

    def get_type_hints(self) -> IOTypeHints:
        """Return the hints: given to this object, its defaults, or given to its class by decorators."""
        own: IOTypeHints = self.__dict__.get("_type_hints", IOTypeHints.empty())
        return own.with_defaults(self.default_type_hints()).with_defaults(
            declared_hints(type(self))
        )

    def default_type_hints(self) -> IOTypeHints | None:
        """Return the hints if none are declared; for subclasses to override."""
        return None

    def with_input_types(self, *types: Any, **named: Any) -> Self:
        """Declare the types of inputs.

        Args:
            types: the type of the elements, and the types of other arguments.
            named: types of other arguments, or of several inputs, by name.
        """
        own: IOTypeHints = self.__dict__.get("_type_hints", IOTypeHints.empty())
        self._type_hints = own.with_input_types(*types, **named)
        return self

    def with_output_types(self, *types: Any, **named: Any) -> Self:
        """Declare the types of outputs.

        Args:
            types: the type of the elements of the main output.
            named: the types of other outputs, by tag.
        """
        own: IOTypeHints = self.__dict__.get("_type_hints", IOTypeHints.empty())
        self._type_hints = own.with_output_types(*types, **named)
        return self
