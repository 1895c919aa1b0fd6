"""Each target of make works as the first command in a fresh clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.fresh_clone import (
    FIRST_COMMANDS,
    MORE_FIRST_COMMANDS,
    FirstCommand,
    clone,
    make,
    make_prerequisites,
    targets,
)


def test_every_target_has_a_first_command() -> None:
    assert targets() == set(FIRST_COMMANDS)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.network
@pytest.mark.parametrize(
    ("command", "how"), [*FIRST_COMMANDS.items(), *MORE_FIRST_COMMANDS.items()]
)
def test_it_works_as_the_first_command(command: str, how: FirstCommand, tmp_path: Path) -> None:
    directory = clone(tmp_path)
    if how.only_prerequisites:
        make_prerequisites(directory, command)
    else:
        make(directory, *command.split(), *how.arguments)
