"""Structured Streaming answers as the comparison says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.beam.comparison import page
from tests.beam.comparison.questions import QUESTIONS, is_right

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.filterwarnings("ignore")
def test_structured_streaming_answers_as_stored(spark: SparkSession) -> None:
    from tests.beam.comparison.in_structured_streaming import SETTINGS, in_structured_streaming

    session = spark.newSession()
    for name in ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone"):
        session.conf.set(name, str(SETTINGS[name]))
    stored = page.stored()["Structured Streaming"].by_question
    for question in QUESTIONS:
        answer = in_structured_streaming(session, question)
        right = is_right(question, stored[question.name])
        assert (question.name, is_right(question, answer)) == (question.name, right)
