"""TLS at a broker that asks for the certificate of the client, whose key has a secret password."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.testing.util import assert_that, equal_to
from tests.support.services import kafka
from tests.support.services.certificates import KEY_PASSWORD
from tests.unit.sdk.io.kafka.topics import Topic
from tests.unit.sdk.io.kafka.written import pairs, sent

pytestmark = pytest.mark.xdist_group("kafka")


def settings(broker: kafka.Broker, password: Any) -> dict[str, Any]:
    """The settings of a client with a certificate."""
    files = broker.certificates
    return {
        "bootstrap.servers": broker.tls_address,
        "security.protocol": "SSL",
        "ssl.ca.location": str(files.authority),
        "ssl.certificate.location": str(files.client),
        "ssl.key.location": str(files.client_key),
        "ssl.key.password": password,
    }


def test_records_are_written_and_read(
    topic: Topic, kafka_broker: kafka.Broker, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(KEY_PASSWORD)
    secured = settings(kafka_broker, hr.io.Secret.from_file(tmp_path / "password"))
    with hr.Pipeline() as p:
        rows = p | hr.Create([(b"quay", b"5"), (b"weir", b"7")])
        _ = rows | hr.io.WriteToKafka(secured, topic.name)
    assert pairs(sent(topic)) == [(b"quay", b"5"), (b"weir", b"7")]
    for flags in ([], ["--streaming", "--until-caught-up"]):
        with hr.Pipeline(argv=flags) as p:
            found = p | hr.io.ReadFromKafka(secured, topic.name, stop="now")
            assert_that(found, equal_to([(b"quay", b"5"), (b"weir", b"7")]))


@pytest.mark.spark
def test_workers_of_spark_write_and_read_records(
    topic: Topic, kafka_broker: kafka.Broker, small_spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text(KEY_PASSWORD)
    secured = settings(kafka_broker, hr.io.Secret.from_file(tmp_path / "password"))
    with hr.Pipeline(runner=small_spark) as p:
        rows = p | hr.Create([(b"lock", b"5"), (b"sluice", b"7")])
        _ = rows | hr.io.WriteToKafka(secured, topic.name)
    for flags in ([], ["--streaming", "--until-caught-up"]):
        with hr.Pipeline(small_spark, argv=flags) as p:
            found = p | hr.io.ReadFromKafka(secured, topic.name, stop="now")
            assert_that(found, equal_to([(b"lock", b"5"), (b"sluice", b"7")]))


def test_a_wrong_password_of_the_key_is_an_error_that_does_not_show_it(
    topic: Topic, kafka_broker: kafka.Broker
) -> None:
    secured = settings(kafka_broker, "not-the-password")
    with pytest.raises(PipelineError, match=r"ssl\.key\.location") as error, hr.Pipeline() as p:
        _ = p | hr.io.ReadFromKafka(secured, topic.name, stop="now")
    assert "not-the-password" not in str(error.value)
