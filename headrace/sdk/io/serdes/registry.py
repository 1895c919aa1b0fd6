"""Schema registries: servers that give each schema a number, and messages that begin with such a number.

The format is Confluent's: a zero byte, the number of the schema in four bytes, big-endian, and then the
message. Apicurio and Karapace offer the same API.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import attrs

from headrace.errors import ElementError, PipelineError, require_extra, shorten
from headrace.sdk.io.connection_settings import ConnectionSettings

_HEADER: Final = struct.Struct(">bI")

_NOT_FOUND: Final = 404

_CLIENTS: Final[dict[SchemaRegistry, Any]] = {}
"""A cache: the client of each registry in this process, which keeps schemas in memory."""

_SCHEMAS: Final[dict[tuple[SchemaRegistry, int], Any]] = {}
"""A cache: the schemas of a registry by number, which never change."""

_NUMBERS: Final[dict[tuple[Any, str], int]] = {}
"""A cache: the number of a schema under a subject."""


def schema_registry(module: str = "confluent_kafka.schema_registry") -> Any:
    """Return the client of schema registries, or one of its modules.

    Raises:
        PipelineError: it is not installed.
    """
    use = "schema registries are asked by confluent-kafka with its extra schemaregistry"
    return require_extra(module, "schema-registry", use)


def _settings(given: Any) -> ConnectionSettings:
    if isinstance(given, ConnectionSettings):
        return given
    return ConnectionSettings.of(given, "config")


@attrs.frozen(repr=False)
class SchemaRegistry:
    """A schema registry with Confluent's API; needs ``headrace[schema-registry]``.

    Args:
        url: its address.
        config: settings of its client, such as ``basic.auth.user.info`` or ``ssl.ca.location``; secrets are
            never shown, and can be given as :class:`~headrace.io.Secret`.
        registers: whether schemas that it does not have are registered when messages are written.

    >>> hr.io.SchemaRegistry("http://localhost:8081", {"basic.auth.user.info": "quay:hunter2"})
    SchemaRegistry('http://localhost:8081')
    """

    url: str
    config: ConnectionSettings = attrs.field(factory=ConnectionSettings, converter=_settings)
    registers: bool = attrs.field(default=True, kw_only=True)

    def __repr__(self) -> str:
        parts = urlsplit(self.url)
        place = parts.netloc.rpartition("@")[2]  # without user and password
        return f"SchemaRegistry({urlunsplit(parts._replace(netloc=place))!r})"

    def check(self) -> None:
        """Check that the client is installed.

        Raises:
            PipelineError: it is not.
        """
        schema_registry()

    def schema(self, number: int) -> Any:
        """Return a schema of the client's class, by number.

        Raises:
            ElementError: the registry has no such schema, so the message that names it is bad.
            PipelineError: the registry does not answer.
        """
        found = _SCHEMAS.get((self, number))
        if found is None:
            with self.errors(f"the schema {number}"):
                found = _SCHEMAS[self, number] = self.client().get_schema(number)
        return found

    def number(self, subject: str, kind: str, text: str) -> int:
        """Return the number of a schema, which is registered if it is new.

        Args:
            subject: its name in the registry.
            kind: ``AVRO``, ``JSON`` or ``PROTOBUF``.
            text: the schema.

        Raises:
            PipelineError: the registry refuses the schema, or does not answer.
        """
        key = (self, kind, text), subject
        if key not in _NUMBERS:
            schema = schema_registry().Schema(text, kind)
            try:
                _NUMBERS[key] = self._ask(subject, schema)
            except ElementError as error:
                raise PipelineError(error.problem, where=error.where, remedy=error.remedy) from None
        return _NUMBERS[key]

    def _ask(self, subject: str, schema: Any) -> int:
        with self.errors(f"the schema of the subject {subject}"):
            if self.registers:
                return int(self.client().register_schema(subject, schema))
            return int(self.client().lookup_schema(subject, schema).schema_id)

    def client(self) -> Any:
        """Return the client of the registry in this process."""
        if self not in _CLIENTS:
            settings = {"url": self.url, **self.config.resolved()}
            _CLIENTS[self] = schema_registry().SchemaRegistryClient(settings)
        return _CLIENTS[self]

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn errors of the client and of the connection into errors without secrets.

        Args:
            what: what is asked for.

        Raises:
            ElementError: the registry does not have it.
            PipelineError: the registry does not answer.
        """
        try:
            yield
        except PipelineError:
            raise
        except Exception as error:  # of the registry, or of any of the libraries of the connection
            raise self._error(what, error) from None

    def _error(self, what: str, error: BaseException) -> ElementError | PipelineError:
        """Return the error for an error of the client: a bad message, if the registry lacks its schema."""
        missing = getattr(error, "http_status_code", 0) == _NOT_FOUND
        return (ElementError if missing else PipelineError)(
            f"the registry does not give {what}: {self.config.scrubbed(str(error))}",
            where=repr(self),
            remedy="check that the registry runs, and that it has the schema",
        )


@attrs.frozen
class Framing:
    """Messages of one schema that begin with its number.

    Attributes:
        registry: the registry.
        kind: ``AVRO``, ``JSON`` or ``PROTOBUF``.
        text: the schema with which messages are written; None if they are only read.
        is_key: whether they are keys, whose subject is ``<topic>-key``.
    """

    registry: SchemaRegistry
    kind: str
    text: str | None
    is_key: bool = False

    def framed(self, topic: str, message: bytes) -> bytes:
        """Return a message with the number of its schema.

        Raises:
            PipelineError: there is no schema, or the registry does not take it.
        """
        if self.text is None:
            raise PipelineError(
                "there is no schema to register for messages",
                remedy="give the serde a schema; for JSON as json_schema=",
            )
        subject = f"{topic}-{'key' if self.is_key else 'value'}"
        return _HEADER.pack(0, self.registry.number(subject, self.kind, self.text)) + message

    def unframed(self, data: bytes) -> tuple[int, bytes]:
        """Return the number of the schema of a message, and the message.

        Raises:
            ElementError: it does not begin with a number.
        """
        if len(data) < _HEADER.size or data[0] != 0:
            raise ElementError(
                f"the message {shorten(data)} does not begin with the number of a schema",
                remedy="it was not written with a schema registry: give the serde no registry",
            )
        return _HEADER.unpack_from(data)[1], data[_HEADER.size :]
