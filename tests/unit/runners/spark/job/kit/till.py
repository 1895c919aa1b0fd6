"""A class that elements and keys are made of."""

import attrs


@attrs.frozen
class Till:
    name: str
