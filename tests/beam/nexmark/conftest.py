"""The events come from the generator of the examples, which this import makes available."""

from tests.docs.examples.conftest import EXAMPLES as EXAMPLES
