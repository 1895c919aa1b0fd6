"""What the tests of the examples share: the directory of the examples, from which they import."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

sys.path.insert(0, str(EXAMPLES))
