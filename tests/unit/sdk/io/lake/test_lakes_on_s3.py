"""Tables on S3, with credentials that are secrets: written, corrected and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.testing.util import assert_that, equal_to
from tests.support.services import s3

pytestmark = pytest.mark.slow

KEYS = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The URL of a server with a bucket."""
    with s3.running() as environment:
        s3.create_bucket(environment, "lake")
        yield json.loads(environment["FSSPEC_S3"])["client_kwargs"]["endpoint_url"]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> dict[str, hr.io.Secret]:
    """The key, in an environment variable that no package of S3 looks at."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KEY_OF_THE_LAKE", "a-key")
    secret = hr.io.Secret.from_env("KEY_OF_THE_LAKE")
    return {"id": secret, "key": secret}


def delta(endpoint: str, secrets: dict[str, hr.io.Secret], folder: Path) -> tuple[Any, Any]:
    """A write, and a read, of a Delta table."""
    options: dict[str, Any] = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": secrets["id"],
        "AWS_SECRET_ACCESS_KEY": secrets["key"],
    }
    url = f"s3://lake/{folder.name}/totals"
    write = hr.io.WriteToDelta(url, key="place", columns=COLUMNS, storage_options=options)
    return write, hr.io.ReadFromDelta(url, storage_options=options)


def iceberg(endpoint: str, secrets: dict[str, hr.io.Secret], folder: Path) -> tuple[Any, Any]:
    """A write, and a read, of an Iceberg table."""
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"s3://lake/{folder.name}/warehouse",
        "s3.endpoint": endpoint,
        "s3.region": "us-east-1",
        "s3.access-key-id": secrets["id"],
        "s3.secret-access-key": secrets["key"],
    }
    catalog: dict[str, Any] = {"catalog_properties": properties}
    write = hr.io.WriteToIceberg("shop.totals", key="place", columns=COLUMNS, **catalog)
    return write, hr.io.ReadFromIceberg("shop.totals", **catalog)


COLUMNS = ["place", "total"]


@pytest.mark.parametrize("lake", [delta, iceberg])
def test_a_table_is_written_corrected_and_read(
    lake: Any, endpoint: str, credentials: dict[str, hr.io.Secret], tmp_path: Path
) -> None:
    write, read = lake(endpoint, credentials, tmp_path)
    for rows in ([("quay", 5), ("weir", 7)], [("quay", 8)]):
        with hr.Pipeline() as p:
            _ = p | hr.Create(rows) | write
    with hr.Pipeline() as p:
        found = p | read | hr.Map(place_and_total)
        assert_that(found, equal_to([("quay", 8), ("weir", 7)]))
    assert "a-key" not in f"{write!r} {read!r} {hr.explain(p)}"


@pytest.mark.spark
def test_workers_of_spark_write_and_read_tables(
    endpoint: str, small_spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("a-key")
    secret = hr.io.Secret.from_file(tmp_path / "key")
    lakes = [lake(endpoint, {"id": secret, "key": secret}, tmp_path) for lake in (delta, iceberg)]
    for rows in ([("lock", 5), ("sluice", 7)], [("lock", 8)]):
        with hr.Pipeline(runner=small_spark) as p:
            totals = p | hr.Create(rows)
            for write, _ in lakes:
                _ = totals | write
    with hr.Pipeline(runner=small_spark) as p:
        for _, read in lakes:
            pairs = p | read | f"Pairs of {read!r}" >> hr.Map(place_and_total)
            assert_that(pairs, equal_to([("lock", 8), ("sluice", 7)]), label=f"Check {read!r}")


def place_and_total(row: dict[str, Any]) -> tuple[str, int]:
    return row["place"], row["total"]
