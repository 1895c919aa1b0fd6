"""The events come from the generator of the examples, which this import makes available."""

import pytest

from tests.docs.examples.conftest import EXAMPLES as EXAMPLES  # isort: skip

from nexmark.generator import events

from tests.beam.nexmark.checks import CONFIG
from tests.docs.examples.nexmark_oracle import House


@pytest.fixture(scope="session")
def house() -> House:
    """What happened in the auctions of the events."""
    return House(events(CONFIG))
