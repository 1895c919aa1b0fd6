"""Objects of S3, on a server of their own: written, matched and read, on each runner."""

import json

import pytest

from tests.conftest import ON_SPARK
from tests.faults.days import by_day
from tests.support.services import s3
from tests.unit.sdk.io.s3_program import LINES


@pytest.fixture(scope="module")
def server():
    with s3.running() as environment:
        yield environment


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["local", pytest.param("spark", marks=[*ON_SPARK, by_day(3)])])
def test_objects_are_written_matched_and_read(runner, server):
    bucket = f"bucket-{runner}"
    s3.create_bucket(server, bucket)
    text = s3.python("tests.unit.sdk.io.s3_program", runner, bucket, environment=server)
    report = json.loads(text.splitlines()[-1])
    lines = sorted(LINES)
    assert report["written"]["text"] == [f"out-0000{n}-of-00002.txt.gz" for n in range(2)]
    assert report["written"]["avro"] == ["out-00000-of-00001"]
    assert report["written"]["files"] == ["3-00000-of-00001", "5-00000-of-00001"]
    assert report["read"]["names"] == lines
    assert report["read"]["records"] == [{"line": line} for line in lines]
    assert report["read"]["continuously"] == lines
    assert sorted("".join(report["read"]["whole"]).split()) == lines
