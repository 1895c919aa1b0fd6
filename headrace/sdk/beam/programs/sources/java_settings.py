"""Settings of Kafka's Java client, which programs of Beam have, as those of librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from headrace.errors import PipelineError, warn

_OVERWRITTEN: Final = ("key.{}", "value.{}")
"""Settings that Beam overwrites by the arguments of its transforms."""

_STRONGER: Final = ("acks", "request.required.acks", "enable.idempotence")
"""Settings of a producer that follow from the delivery, which is at least as strong as they can ask for."""

_WITHOUT_EFFECT: Final = {
    "max.poll.records": (
        "the runner decides on the size of batches",
        "use --max_records_per_batch",
    ),
    "enable.auto.commit": (
        "offsets are committed when results are written, if at all",
        "use commit_offset_in_finalize=True",
    ),
}
"""Settings of a consumer without an effect: why, and what to do instead."""

_JAAS: Final = "sasl.jaas.config"

_LOGIN: Final = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')
"""Matches the name and the password in the configuration of a login module of Java."""

_SIMPLE_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")
"""The login modules that take a name and a password."""


def consumer_settings(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings of a consumer.

    A read without a start begins at the end of the topic, as KafkaIO's does.

    Args:
        config: the settings of the Java client.
        where: label of the transform.

    Raises:
        PipelineError: the login cannot be done here.

    >>> consumer_settings({"bootstrap.servers": "h:1"}, "Read")
    {'auto.offset.reset': 'latest', 'bootstrap.servers': 'h:1'}
    """
    given = _without(config, "deserializer")
    for name, (reason, remedy) in _WITHOUT_EFFECT.items():
        if given.pop(name, "false") != "false":
            warn(f"{name} has no effect: {reason}", where=where, remedy=remedy)
    return {"auto.offset.reset": "latest", **_with_login(given)}


def producer_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a producer.

    Args:
        config: the settings of the Java client.

    Raises:
        PipelineError: the login cannot be done here.

    >>> producer_settings({"bootstrap.servers": "h:1", "acks": "all"})
    {'bootstrap.servers': 'h:1'}
    """
    given = _without(config, "serializer")
    return _with_login({name: value for name, value in given.items() if name not in _STRONGER})


def _without(config: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the settings without the classes that Beam overwrites."""
    names = [name.format(kind) for name in _OVERWRITTEN]
    return {name: value for name, value in config.items() if name not in names}


def _with_login(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the name and the password of a login of Java."""
    jaas = config.pop(_JAAS, None)
    if jaas is None:
        return config
    found = dict(_LOGIN.findall(jaas))
    if not any(module in jaas for module in _SIMPLE_MODULES) or len(found) < 2:
        raise PipelineError(
            f"{_JAAS} has no PlainLoginModule or ScramLoginModule with a username and a password",
            remedy="use sasl.mechanism, and the settings of librdkafka for it",
        )
    login = {f"sasl.{name}": re.sub(r"\\(.)", r"\1", value) for name, value in found.items()}
    return {**login, **config}
