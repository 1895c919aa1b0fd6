"""DoFns of another SDK, which bring their own calls of functions: on whole bundles, or on runs of a key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.sdk.pardo.binding import BoundCall
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pipelines.outputs import Outputs


class BundleDoFn(DoFn):
    """A DoFn that processes the elements of a bundle together, and says which errors are of which element."""

    @abstractmethod
    def process_bundle(self, bundle: Bundle, *sides: Any) -> Outputs:
        """Return the outputs for a bundle.

        Args:
            bundle: the elements.
            sides: the contents of side inputs, which are the same for all elements.
        """

    @abstractmethod
    def last_outputs(self) -> Outputs:
        """Finish the bundle of elements that arrived together, and return its last outputs."""

    def process(self, element: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing: elements arrive in bundles."""


class RunDoFn(DoFn):
    """A stateful DoFn whose function is of another SDK: it binds arguments, and translates outputs."""

    @property
    @abstractmethod
    def function(self) -> Callable[..., Any]:
        """The function that is called on each element, in place of ``process``."""

    @abstractmethod
    def bound(self, function: Callable[..., Any], sides: tuple[Any, ...]) -> BoundCall:
        """Return the call of a function on elements of one key and window that arrived together.

        Args:
            function: the function, or one that calls it.
            sides: the contents of side inputs, when the elements are processed.
        """

    @abstractmethod
    def calling(self) -> AbstractContextManager[None]:
        """Return what is entered while functions are called."""

    @abstractmethod
    def own_outputs(self, values: list[Any]) -> list[Any]:
        """Return outputs as values, or as ours with a tag, timestamp or windows."""

    def process(self, element: Any, *args: Any, **kwargs: Any) -> None:
        """Do nothing: :attr:`function` is called in its place."""
