"""The names of functions in labels of transforms."""

from __future__ import annotations

import os
from typing import Any


def callable_label(fn: Any) -> str:
    """Return the name of a function in labels of transforms (as in Beam).

    >>> callable_label(len), callable_label(7)
    ('len', '7')
    """
    if hasattr(fn, "default_label"):
        return str(fn.default_label())
    name = getattr(fn, "__name__", None)
    if name is None:
        return str(fn)
    if name == "<lambda>":
        code = fn.__code__
        return f"<lambda at {os.path.basename(code.co_filename)}:{code.co_firstlineno}>"
    return str(name)
