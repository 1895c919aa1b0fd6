"""Questions to the brokers: which partitions there are, where they begin and end, and where a run starts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.kafka.client import ClientSettings, kafka
from headrace.windowing.time.timestamps import micros

TopicPartition: TypeAlias = tuple[str, int]
"""A topic, and the number of a partition."""

T = TypeVar("T")

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

StartPoint: TypeAlias = str | int | Mapping[TopicPartition, int]
"""Where reading starts: a name, a time in milliseconds, or offsets by partition."""

ANSWER_SECONDS: Final = 10.0
"""Seconds to wait for the answer of a broker."""

PATIENCE_SECONDS: Final = 60.0
"""Seconds for which brokers that do not answer are asked again: one of them may be restarted."""

SETTLE_SECONDS: Final = 10.0
"""Seconds for which a broker is asked again that knows less than before: it may have just been started."""

_RETRY_SECONDS: Final = 0.3

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

    A broker that does not answer is asked again, by a new client: the old one can keep on asking a leader
    of a partition that has been replaced.

    Args:
        settings: settings of the client.
    """

    settings: ClientSettings
    _client: Any = attrs.field(init=False)
    _known: frozenset[TopicPartition] = attrs.field(default=frozenset(), init=False)

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
        known = self._ask(
            "list the topics",
            lambda client: client.list_topics(timeout=ANSWER_SECONDS).topics,
            lambda found: self._known <= _places(found),
        )
        self._known = _places(known)
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

    def ends(
        self, places: Iterable[TopicPartition], least: Mapping[TopicPartition, int] | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offsets after the last records that can be read now.

        Args:
            places: the partitions.
            least: offsets that were read before; a lower end is asked for again for a while.
        """
        latest = kafka("confluent_kafka.admin").OffsetSpec.latest()
        before = dict.fromkeys(places, 0) | dict(least or {})
        return self._offsets(dict.fromkeys(before, latest), before)

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

        def commit(client: Any) -> None:
            for future in client.alter_consumer_group_offsets(request).values():
                future.result(ANSWER_SECONDS)

        self._ask(f"commit offsets of the group {group}", commit)

    def _offsets(
        self,
        specs: Mapping[TopicPartition, Any],
        least: Mapping[TopicPartition, int] | None = None,
    ) -> dict[TopicPartition, int]:
        if not specs:
            return {}
        module = kafka()
        committed = self.settings.get("isolation.level", "read_committed") == "read_committed"
        level = module.IsolationLevel
        asked = {module.TopicPartition(*place): spec for place, spec in specs.items()}
        isolation = level.READ_COMMITTED if committed else level.READ_UNCOMMITTED

        def offsets(client: Any) -> dict[TopicPartition, int]:
            answers = client.list_offsets(
                asked, isolation_level=isolation, request_timeout=ANSWER_SECONDS
            )
            return {
                (place.topic, place.partition): answer.result(ANSWER_SECONDS).offset
                for place, answer in answers.items()
            }

        lower = dict(least or {})
        return self._ask(
            "ask for offsets",
            offsets,
            lambda found: all(found[place] >= offset for place, offset in lower.items()),
        )

    def _ask(
        self,
        doing: str,
        question: Callable[[Any], T],
        settled: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return the answer to a question, which is asked again if brokers are away or have just started."""
        started = time.monotonic()
        failed: Any = kafka().KafkaException
        while True:
            waited = time.monotonic() - started
            try:
                answer = question(self._client)
            except (failed, TimeoutError) as error:
                if waited > PATIENCE_SECONDS or not _passes(error):
                    raise self.settings.error(doing, error) from None
                self._client = self._connected()
            else:
                if settled(answer) or waited > SETTLE_SECONDS:
                    return answer
            time.sleep(_RETRY_SECONDS)


_CONSUMERS_ONLY: Final = re.compile(
    r"group\.(id|instance\.id)|isolation\.level|auto\.offset\.reset|enable\.auto\..*|fetch\..*|max\.poll\..*"
    r"|queued\..*|session\.timeout\.ms|heartbeat\.interval\.ms|partition\.assignment\.strategy|check\.crcs"
    r"|enable\.partition\.eof|max\.partition\.fetch\.bytes|auto\.commit\..*"
)


_PASSING: Final = (
    "_TRANSPORT",
    "_ALL_BROKERS_DOWN",
    "_TIMED_OUT",
    "_NOENT",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "OFFSET_NOT_AVAILABLE",
)
"""The errors of brokers that are away, or that have just become the leader of a partition."""


def _passes(error: BaseException) -> bool:
    """Return whether an error can pass by itself."""
    cause = error.args[0] if error.args else error
    name = getattr(cause, "name", None)
    return isinstance(error, TimeoutError) or (callable(name) and name() in _PASSING)


def _places(topics: Mapping[str, Any]) -> frozenset[TopicPartition]:
    """Return the partitions of topics, without those that have an error."""
    fine = ((name, topic) for name, topic in topics.items() if topic.error is None)
    return frozenset((name, number) for name, topic in fine for number in topic.partitions)


def _matching(pattern: str, known: Iterable[str]) -> list[str]:
    whole = re.compile(pattern)
    return sorted(n for n in known if whole.fullmatch(n) and not n.startswith("__"))
