"""Questions to the brokers: which partitions there are, where they begin and end, and where a run starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.windowing.time.timestamps import micros

TopicPartition: TypeAlias = tuple[str, int]
"""A topic, and the number of a partition."""

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

StartPoint: TypeAlias = str | int | Mapping[TopicPartition, int]
"""Where reading starts: a name, a time in milliseconds, or offsets by partition."""

ANSWER_SECONDS: Final = 30.0
"""Seconds to wait for the answer of a broker."""

_MICROS: Final = 1000


def start_of(given: Any, argument: str = "start") -> StartPoint:
    """Return where reading starts, as plain data.

    Args:
        given: ``"earliest"``, ``"latest"``, a time, or offsets by topic and partition.
        argument: name of the argument.

    Raises:
        PipelineError: it is something else.

    >>> start_of("latest"), start_of(Timestamp(1.5)), start_of({("sales", 0): 7})
    ('latest', 1500, {('sales', 0): 7})
    """
    if given in (EARLIEST, LATEST):
        return str(given)
    if isinstance(given, Mapping):
        return _offsets(given, argument)
    if isinstance(given, str) and not given[:1].isdigit():
        raise PipelineError(
            f"{argument} is {shorten(given)}",
            remedy='use "earliest", "latest", a time, or offsets by (topic, partition)',
        )
    return -(-micros(given) // _MICROS)


def _offsets(given: Mapping[Any, Any], argument: str) -> dict[TopicPartition, int]:
    for place, offset in given.items():
        named = isinstance(place, tuple) and len(place) == 2
        if not named or type(offset) is not int or offset < 0:
            raise PipelineError(
                f"{argument} has {shorten(place)}: {shorten(offset)}",
                remedy='use offsets from 0 by topic and partition: {("sales", 0): 7}',
            )
    return dict(given)


@attrs.define
class Brokers:
    """The brokers, as far as they are asked for topics and offsets; one connection.

    Args:
        settings: settings of the client.
    """

    settings: ClientSettings
    _client: Any = attrs.field(init=False)

    @_client.default
    def _connected(self) -> Any:
        module = kafka("confluent_kafka.admin")
        # A consumer's settings have some that others lack.
        known = {
            name: value
            for name, value in self.settings.resolved().items()
            if not _CONSUMERS_ONLY.fullmatch(name)
        }
        with self.settings.errors("connect"):
            return module.AdminClient(known)

    def partitions(self, topics: Sequence[str], pattern: str | None) -> list[TopicPartition]:
        """Return the partitions of topics, in order.

        Args:
            topics: their names.
            pattern: a regular expression that matches the whole name of each topic; None for names only.

        Raises:
            PipelineError: a topic does not exist, or no topic matches, or the brokers do not answer.
        """
        with self.settings.errors("list the topics"):
            known = self._client.list_topics(timeout=ANSWER_SECONDS).topics
        names = list(topics) if pattern is None else _matching(pattern, known)
        for name in names:
            if name not in known or known[name].error is not None:
                raise PipelineError(
                    f"the topic {name} does not exist",
                    where=f"brokers {self.settings.servers}",
                    remedy="make it, or correct the name",
                )
        if not names:
            raise PipelineError(
                f"no topic matches {shorten(pattern)}",
                where=f"brokers {self.settings.servers}",
                remedy="make a topic before the run, or correct the pattern",
            )
        return [(name, number) for name in names for number in sorted(known[name].partitions)]

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets after the last records that can be read now."""
        latest = kafka("confluent_kafka.admin").OffsetSpec.latest()
        return self._offsets(dict.fromkeys(places, latest))

    def starts(
        self, places: Sequence[TopicPartition], start: StartPoint
    ) -> dict[TopicPartition, int]:
        """Return the offsets where reading starts.

        Args:
            places: the partitions.
            start: where reading starts; a partition without an offset starts at its earliest one.
        """
        if isinstance(start, Mapping):
            others = [place for place in places if place not in start]
            return {**self.starts(others, EARLIEST), **{p: start[p] for p in places if p in start}}
        if start == LATEST:
            return self.ends(places)
        spec = kafka("confluent_kafka.admin").OffsetSpec
        if start == EARLIEST:
            return self._offsets(dict.fromkeys(places, spec.earliest()))
        found = self._offsets(dict.fromkeys(places, spec.for_timestamp(start)))
        later = self.ends([place for place, offset in found.items() if offset < 0])
        return {**found, **later}

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Store offsets for a group, for those who watch it.

        Raises:
            PipelineError: the brokers refuse.
        """
        module = kafka()
        places = [module.TopicPartition(*place, offset) for place, offset in offsets.items()]
        request = [module.ConsumerGroupTopicPartitions(group, places)]
        with self.settings.errors(f"commit offsets of the group {group}"):
            for future in self._client.alter_consumer_group_offsets(request).values():
                future.result(ANSWER_SECONDS)

    def _offsets(self, specs: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
        if not specs:
            return {}
        module = kafka()
        committed = self.settings.get("isolation.level", "read_committed") == "read_committed"
        level = module.IsolationLevel
        asked = {module.TopicPartition(*place): spec for place, spec in specs.items()}
        with self.settings.errors("ask for offsets"):
            answers = self._client.list_offsets(
                asked,
                isolation_level=level.READ_COMMITTED if committed else level.READ_UNCOMMITTED,
                request_timeout=ANSWER_SECONDS,
            )
            return {
                (place.topic, place.partition): answer.result(ANSWER_SECONDS).offset
                for place, answer in answers.items()
            }


_CONSUMERS_ONLY: Final = re.compile(
    r"group\.(id|instance\.id)|isolation\.level|auto\.offset\.reset|enable\.auto\..*|fetch\..*|max\.poll\..*"
    r"|queued\..*|session\.timeout\.ms|heartbeat\.interval\.ms|partition\.assignment\.strategy|check\.crcs"
    r"|enable\.partition\.eof|max\.partition\.fetch\.bytes|auto\.commit\..*"
)


def _matching(pattern: str, known: Iterable[str]) -> list[str]:
    whole = re.compile(pattern)
    return sorted(n for n in known if whole.fullmatch(n) and not n.startswith("__"))
