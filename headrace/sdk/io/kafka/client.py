"""Settings of the Kafka client, as data, and access to the client.

Settings are those of librdkafka, which confluent-kafka passes on. Their secrets are never shown: a text that
is given for a password becomes a :class:`~headrace.io.Secret`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import PipelineError, require_extra, shorten
from headrace.sdk.io.secret import SHOWN_SECRET, Secret, resolved

SettingValue: TypeAlias = str | int | float | bool | Secret | Callable[..., Any]
"""A value of a setting; functions are for callbacks, such as ``oauth_cb``."""

_SECRET: Final = re.compile(
    r"password|secret|credential|passphrase|private|jaas|user\.info|\.pem$|token$"
    r"|oauthbearer\.config$|key\.string$"
)
"""Matches the names of settings whose values are secrets."""

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


def is_secret(name: str) -> bool:
    """Return whether the value of a setting is a secret.

    >>> is_secret("sasl.password"), is_secret("ssl.key.pem"), is_secret("bootstrap.servers")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


@attrs.frozen(repr=False)
class ClientSettings:
    """Settings of a client; :meth:`of` checks them.

    Attributes:
        settings: names and values, secrets as :class:`~headrace.io.Secret`.

    >>> ClientSettings.of({"bootstrap.servers": "host:9092", "sasl.password": "hunter2"})
    ClientSettings({'bootstrap.servers': 'host:9092', 'sasl.password': '***'})
    """

    settings: tuple[tuple[str, SettingValue], ...] = ()

    @classmethod
    def of(
        cls,
        config: Mapping[str, Any],
        argument: str = "consumer_config",
        server: str = "bootstrap.servers",
    ) -> ClientSettings:
        """Check settings, and hide their secrets.

        Args:
            config: settings of librdkafka; where Kafka's Java client, which Beam uses, has another name for
                a setting, that name works too.
            argument: name of the argument that they are given for, for errors.
            server: name of the setting with the address of the server, which is required; empty for none.

        Raises:
            PipelineError: a setting is missing, or is one of the Java client only.
        """
        if not isinstance(config, Mapping):
            raise PipelineError(
                f"{argument} is {shorten(type(config).__name__)}, not a dict of settings",
                remedy='use {"bootstrap.servers": "host:9092"}',
            )
        named = {_RENAMED.get(name, name): value for name, value in config.items()}
        for name in named:
            if name in _REFUSED:
                raise PipelineError(
                    f"{argument} has {name}, a setting of Kafka's Java client",
                    remedy=_REFUSED[name],
                )
        if server and not named.get(server):
            raise PipelineError(
                f"{argument} has no {server}", remedy=f'add {{"{server}": "host:9092"}}'
            )
        return cls(tuple((name, _hidden(name, value)) for name, value in named.items()))

    @property
    def shown(self) -> dict[str, str]:
        """The settings as text, for reports, with ``***`` for each secret.

        >>> ClientSettings.of({"bootstrap.servers": "h:1", "ssl.key.password": "hunter2"}).shown
        {'bootstrap.servers': 'h:1', 'ssl.key.password': '***'}
        """
        return {
            name: SHOWN_SECRET if isinstance(value, Secret) else str(value)
            for name, value in self.settings
        }

    def __repr__(self) -> str:
        return f"ClientSettings({self.shown})"

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting, a secret as :class:`~headrace.io.Secret`."""
        return dict(self.settings).get(name, default)

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

    def resolved(self) -> dict[str, Any]:
        """Return the settings with their secrets, for the client; only in the process that connects.

        Raises:
            PipelineError: a secret is not there.
        """
        return resolved(dict(self.settings))

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
            raise PipelineError(
                f"the Kafka client cannot {doing}: {self.scrubbed(_message(error))}",
                where=f"brokers {self.servers}",
                remedy="check that the brokers run, and the settings of the client",
            ) from None

    def scrubbed(self, text: str) -> str:
        """Return a text of the client without the secrets of these settings."""
        for _, value in self.settings:
            if isinstance(value, Secret):
                with suppress(PipelineError):  # then the client did not get it either
                    text = text.replace(value.resolve() or SHOWN_SECRET, SHOWN_SECRET)
        return text


def _hidden(name: str, value: Any) -> SettingValue:
    """Return a value, as a secret if its setting is one."""
    if is_secret(name) and isinstance(value, str):
        return Secret.given(value)
    if isinstance(value, (str, int, float, Secret)) or callable(value):
        return value
    raise PipelineError(
        f"the setting {name} is a {type(value).__name__}",
        remedy="use a text, a number, a truth value, a function or hr.io.Secret",
    )


def _message(error: BaseException) -> str:
    """Return the message of an error of the client, with its code."""
    cause = error.args[0] if error.args else error
    name = getattr(cause, "name", None)
    text = getattr(cause, "str", None)
    return f"{name()}: {text()}" if callable(name) and callable(text) else str(cause)
