"""Records that cannot be deserialized: dead letters with their place, or an error with it."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace.errors import ElementError, PipelineError, UnsupportedError
from headrace.windowing.time.timestamps import MIN_MICROS
from tests.unit.sdk.io.kafka.topics import Topic, values

pytestmark = pytest.mark.xdist_group("kafka")

MESSAGES = values('{"n": 1}', "{", '{"n": 3}', '{"n": "x"}')


def reading(topic: Topic, **arguments: Any) -> hr.io.ReadFromKafka:
    arguments = {"value_deserializer": hr.io.JsonSerde(), "stop": "now", **arguments}
    return hr.io.ReadFromKafka(topic.config, topic.name, **arguments)


@pytest.mark.parametrize("flags", [[], ["--streaming"]])
@pytest.mark.parametrize("by_function", [False, True])
def test_dead_letters_have_their_place_and_the_bytes(
    topic: Topic, flags: list[str], by_function: bool
) -> None:
    topic.write(1, MESSAGES, seconds=50, headers=[("from", b"quay")])
    by = (lambda pair: pair[1]["n"] + 0.5) if by_function else None
    good_ones: list[Any] = []
    letters: list[Any] = []
    times: list[Any] = []

    def note(letter: Any, time: Any = hr.DoFn.TimestampParam) -> None:
        letters.append(letter)
        times.append(time)

    with hr.Pipeline(argv=flags) as p:
        good, bad = p | reading(topic, timestamp=by).with_exception_handling()
        _ = good | hr.Map(lambda pair: good_ones.append(pair[1]["n"]))
        _ = bad | "Bad" >> hr.Map(note)
    assert good_ones == ([1, 3] if by_function else [1, 3, "x"])
    record, (kind, text, lines) = letters[0]
    assert record == hr.io.KafkaRecord(topic.name, 1, 1, 51_000, (("from", b"quay"),), None, b"{")
    assert kind is ElementError
    assert f"topic {topic.name}, partition 1, offset 1" in text
    assert lines
    assert [letter[0].offset for letter in letters] == ([1, 3] if by_function else [1])
    assert times[0] == (hr.Timestamp(micros=MIN_MICROS) if by_function else hr.Timestamp(51))


def test_without_dead_letters_the_run_fails_with_the_place(topic: Topic) -> None:
    topic.write(2, MESSAGES)
    place = f"topic {topic.name}, partition 2, offset 1"
    with pytest.raises(ElementError, match=place), hr.Pipeline(argv=[]) as p:
        _ = p | reading(topic)

    def fails(pair: Any) -> float:
        raise ValueError("no time")

    with pytest.raises(ValueError, match="no time") as caught, hr.Pipeline(argv=[]) as p:
        _ = p | reading(topic, value_deserializer=hr.io.BytesSerde(), timestamp=fails)
    assert f"in topic {topic.name}, partition 2, offset 0" in "".join(caught.value.__notes__)


class NeedsServer(hr.io.Serde):
    """A serde whose server does not answer."""

    def dump(self, topic: str, value: Any) -> bytes:
        raise PipelineError("no answer")

    def load(self, topic: str, data: bytes) -> Any:
        raise PipelineError("no answer")


def test_only_chosen_errors_are_caught_and_never_those_of_servers(topic: Topic) -> None:
    topic.write(0, MESSAGES)
    other = reading(topic).with_exception_handling(exc_class=KeyError)
    with pytest.raises(ElementError, match="offset 1"), hr.Pipeline(argv=[]) as p:
        _ = p | other
    broken = reading(topic, value_deserializer=NeedsServer).with_exception_handling()
    with pytest.raises(PipelineError, match="no answer"), hr.Pipeline(argv=[]) as p:
        _ = p | broken
    with pytest.raises(UnsupportedError, match="threshold"):
        reading(topic).with_exception_handling(threshold=0.5)
