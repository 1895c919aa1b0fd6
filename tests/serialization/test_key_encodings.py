"""A checkpoint whose keys have other encodings now is refused."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.coders import registry
from headrace.errors import PipelineError
from headrace.runners.spark.state.chunked_keys import KeyedChunks
from headrace.sdk.encoding import encode_key
from tests.serialization import classes


def test_a_class_of_keys_that_gets_a_coder() -> None:
    key = classes.Attrs("tea", 3)
    chunk = {encode_key(key): (key, (0, 0, 0), b"")}
    chunks = KeyedChunks(operator=None)  # type: ignore[arg-type]  # not used
    assert len(chunks.thaw(chunk)) == 1
    registry.register_coder(classes.Attrs, hr.coders.RowCoder, name="shop.Sale")
    with pytest.raises(
        PipelineError, match=r"have other encodings than now, such as Attrs\("
    ) as raised:
        chunks.thaw(chunk)
    assert "register the coder and the name of Attrs" in str(raised.value)
