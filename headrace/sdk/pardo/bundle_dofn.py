"""DoFns that take whole bundles: programs of another SDK bring their own calls of functions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.grouping.bundle import Bundle
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
