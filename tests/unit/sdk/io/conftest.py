"""The databases that tables are written to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.services import mariadb, postgres


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a PostgreSQL server, where there is one to start."""
    if postgres.binaries() is None:
        pytest.skip(postgres.NOT_INSTALLED)
    with postgres.running() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[mariadb.Server]:
    """A MariaDB server, where there is one to start."""
    if mariadb.binaries() is None:
        pytest.skip(mariadb.NOT_INSTALLED)
    with mariadb.server() as server:
        yield server


SERVERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("postgresql", "mariadb")]


@pytest.fixture(params=["sqlite", *SERVERS])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    return empty_database(request, tmp_path)


def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of the kind that a fixture is for."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/test.db"
    if request.param == "mariadb":
        server: mariadb.Server = request.getfixturevalue("mariadb_server")
        server.empty()
        return server.url
    url = str(request.getfixturevalue("postgresql")).replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("drop schema public cascade"))
        connection.execute(sa.text("create schema public"))
    return url
