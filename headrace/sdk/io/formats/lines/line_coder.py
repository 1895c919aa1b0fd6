"""Coders of the lines of text files: a coder makes the element of the bytes of a line (Beam's coder=)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.coders.base import StrUtf8Coder, ToBytesCoder

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    LineT = TypeVar("LineT", default=str)
    DecodedT = TypeVar("DecodedT", covariant=True)
else:
    from typing import TypeVar

    LineT = TypeVar("LineT")
    DecodedT = TypeVar("DecodedT", covariant=True)

KEEPS_BYTES: Final = "surrogateescape"
"""The error handler that keeps bytes that are not UTF-8 in a text until its coder gets them back."""


class LineDecoder(Protocol[DecodedT]):
    """The methods of a coder that a reader of lines calls; it may be of any class."""

    def decode(self, encoded: bytes, /) -> DecodedT:
        """Return the element of a line."""


class LineEncoder(Protocol):
    """The methods of a coder that a writer of lines calls; it may be of any class."""

    def encode(self, value: Any, /) -> bytes:
        """Return the bytes of an element."""


def line_decoder(coder: object) -> Any:
    """Return a coder; None if it only decodes UTF-8, which readers do faster.

    Raises:
        PipelineError: it cannot decode.

    >>> line_decoder(StrUtf8Coder()) is None
    True
    """
    return None if type(coder) is StrUtf8Coder else _checked(coder, "decode")


def line_encoder(coder: object) -> Any:
    """Return a coder; None if it encodes as writers do by default.

    Raises:
        PipelineError: it cannot encode.

    >>> line_encoder(ToBytesCoder()) is None
    True
    """
    return None if type(coder) is ToBytesCoder else _checked(coder, "encode")


def _checked(coder: object, method: str) -> Any:
    if coder is None or (not isinstance(coder, type) and callable(getattr(coder, method, None))):
        return coder
    raise PipelineError(
        f"the coder {shorten(coder)} has no method {method}",
        remedy=f"pass an instance of a class with the method {method}, such as a hr.coders.Coder",
    )


def decoded_lines(coder: Any, lines: Iterable[str]) -> list[Any]:
    r"""Return the elements of lines, which were read with :data:`KEEPS_BYTES`.

    >>> from headrace.coders import BytesCoder
    >>> decoded_lines(BytesCoder(), [b"a\xff".decode(errors=KEEPS_BYTES)])
    [b'a\xff']
    """
    decode, elements, line = coder.decode, [], ""
    try:
        for line in lines:
            elements.append(decode(line.encode(errors=KEEPS_BYTES)))
    except Exception as error:
        error.add_note(f"when {type(coder).__name__} decodes the line {shorten(line)}")
        raise
    return elements


def encoded_elements(coder: Any, values: Iterable[object]) -> list[bytes]:
    """Return elements as the bytes of lines.

    Raises:
        ElementError: the coder does not return bytes.

    >>> encoded_elements(StrUtf8Coder(), ["a"])
    [b'a']
    """
    encode, texts, value = coder.encode, [], None
    try:
        for value in values:
            texts.append(encode(value))
            if not isinstance(texts[-1], bytes):
                _refuse(coder, value, texts[-1])
    except Exception as error:
        error.add_note(f"when {type(coder).__name__} encodes the element {shorten(value)}")
        raise
    return texts


def _refuse(coder: object, value: object, text: object) -> None:
    raise ElementError(
        f"the coder {type(coder).__name__} encodes the element {shorten(value)} as {shorten(text)}, not as "
        "bytes",
        remedy="return bytes from its method encode",
    )


def line_type(coder: object) -> Any:
    """Return the type of the elements of a coder; text without one, and Any if the coder does not tell it.

    >>> from headrace.coders import BytesCoder
    >>> line_type(None), line_type(BytesCoder())
    (<class 'str'>, <class 'bytes'>)
    """
    if coder is None:
        return str
    hint = getattr(coder, "to_type_hint", None)
    if hint is None:
        return Any
    try:
        return hint()
    except NotImplementedError:  # as Beam's Coder does by default
        return Any
