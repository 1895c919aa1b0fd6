"""The check that keys in a checkpoint still have the encodings by which they are grouped and placed."""

from __future__ import annotations

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import encode_key


def check_encoding(key: object, stored: bytes) -> None:
    """Check one key of a chunk: a class that gets a coder or a name gives its keys another encoding.

    Raises:
        PipelineError: the encoding differs from the stored one.
    """
    if encode_key(key) != stored:
        raise PipelineError(
            f"the keys in the checkpoint have other encodings than now, such as {shorten(key)}",
            where="the state in the checkpoint",
            remedy=f"register the coder and the name of {type(key).__qualname__} as in the run that wrote "
            "the checkpoint, or start with a new checkpoint",
        )
