"""Settings of the Kafka client, as data, and access to the client.

Settings are those of librdkafka, which confluent-kafka passes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

import attrs

from headrace.errors import PipelineError, require_extra
from headrace.sdk.io.connection_settings import ConnectionSettings, SettingValue

_SERVERS: Final = "bootstrap.servers"

_SERIALIZERS: Final = "give it to the transform instead: {}="

_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "bootstrap_servers": "bootstrap.servers",
}
"""Names of Kafka's Java client, which Beam uses, whose settings have another name in librdkafka."""

_REFUSED: Final = {
    **{
        f"{part}.{kind}": _SERIALIZERS.format(f"{part}_{kind}")
        for part in ("key", "value")
        for kind in ("serializer", "deserializer")
    },
    "sasl.jaas.config": "use sasl.mechanism, sasl.username and sasl.password",
    "ssl.truststore.location": "use ssl.ca.location, a file in PEM format",
    "ssl.truststore.password": "use ssl.ca.location, a file in PEM format",
    "ssl.truststore.type": "use ssl.ca.location, a file in PEM format",
    "ssl.keystore.type": "use ssl.keystore.location with a PKCS #12 file",
    "max.poll.records": "remove it: the runner decides on the size of batches (--max-records-per-batch)",
    "buffer.memory": "use queue.buffering.max.kbytes",
    "max.block.ms": "use delivery.timeout.ms",
    "schema.registry.url": "give a registry to the serializers: hr.io.SchemaRegistry(url)",
}
"""Settings of Kafka's Java client that librdkafka does not have, and what to do instead."""


def kafka(module: str = "confluent_kafka") -> Any:
    """Return confluent-kafka, or one of its modules.

    Raises:
        PipelineError: it is not installed.

    >>> kafka("confluent_kafka.admin").__name__
    'confluent_kafka.admin'
    """
    return require_extra(module, "kafka", "Kafka is read and written with confluent-kafka")


@attrs.frozen(repr=False)
class ClientSettings(ConnectionSettings):
    """Settings of a client of Kafka; :meth:`of` checks them.

    >>> ClientSettings.of({"bootstrap.servers": "host:9092", "sasl.password": "hunter2"})
    ClientSettings({'bootstrap.servers': 'host:9092', 'sasl.password': '***'})
    """

    @classmethod
    def of(cls, config: Mapping[str, Any], argument: str = "consumer_config") -> Self:
        """Check settings, and hide their secrets.

        Args:
            config: settings of librdkafka; where Kafka's Java client, which Beam uses, has another name for
                a setting, that name works too.
            argument: name of the argument that they are given for, for errors.

        Raises:
            PipelineError: a setting is missing, or is one of the Java client only.
        """
        given = super().of(config, argument)
        named = {_RENAMED.get(name, name): value for name, value in given.settings}
        for name in named:
            if name in _REFUSED:
                raise PipelineError(
                    f"{argument} has {name}, a setting of Kafka's Java client",
                    remedy=_REFUSED[name],
                )
        if not named.get(_SERVERS):
            raise PipelineError(
                f"{argument} has no {_SERVERS}", remedy=f'add {{"{_SERVERS}": "host:9092"}}'
            )
        return cls(tuple(named.items()))

    @property
    def servers(self) -> str:
        """The addresses of the brokers."""
        return str(self.get("bootstrap.servers", ""))

    def with_defaults(self, **defaults: SettingValue) -> ClientSettings:
        """Return the settings with values for those that are not given.

        Args:
            defaults: the values, by the names of the settings with ``_`` for each dot.

        >>> ClientSettings.of({"bootstrap.servers": "h:1"}).with_defaults(
        ...     isolation_level="read_committed"
        ... )
        ClientSettings({'isolation.level': 'read_committed', 'bootstrap.servers': 'h:1'})
        """
        named = {name.replace("_", "."): value for name, value in defaults.items()}
        return ClientSettings(tuple({**named, **dict(self.settings)}.items()))

    def with_settings(self, **settings: SettingValue) -> ClientSettings:
        """Return the settings with other values for some of them; names as in :meth:`with_defaults`."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return ClientSettings(tuple({**dict(self.settings), **named}.items()))

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn errors of the client into errors without secrets.

        Args:
            doing: what the client does, such as ``"read the topic sales"``.

        Raises:
            PipelineError: the client raised an error.
        """
        error_class = kafka().KafkaException
        try:
            yield
        except error_class as error:
            raise self.error(doing, error) from None

    def error(self, doing: str, error: BaseException) -> PipelineError:
        """Return the error for an error of the client, without secrets.

        Args:
            doing: what the client does.
            error: the error of the client.
        """
        return PipelineError(
            f"the Kafka client cannot {doing}: {self.scrubbed(_message(error))}",
            where=f"brokers {self.servers}",
            remedy="check that the brokers run, and the settings of the client",
        )


def _message(error: BaseException) -> str:
    """Return the message of an error of the client, with its code."""
    cause = error.args[0] if error.args else error
    name = getattr(cause, "name", None)
    text = getattr(cause, "str", None)
    if callable(name) and callable(text):
        return f"{name()}: {text()}"
    return str(cause) or "no answer in time"
