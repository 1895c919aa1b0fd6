"""Orders in YAML, one document per line, as the shops of a company send them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random

import attrs
import yaml

SHOPS = ("quay", "mill", "weir")
START = datetime.fromisoformat("2026-03-01T00:00:00+00:00")


@attrs.frozen
class Order:
    """An order: the shop, the amount in cents, and the second at which it was made."""

    shop: str
    cents: int
    second: float


def parse(line: str) -> Order:
    """Return the order of a line, such as ``{shop: quay, cents: 250, at: 2026-03-01T10:00:00Z}``."""
    found = yaml.safe_load(line)
    return Order(found["shop"], found["cents"], found["at"].timestamp())


def lines(orders: int, seed: int = 1) -> Iterator[str]:
    """Yield lines of three days, in order."""
    random = Random(seed)
    step = 3 * 24 * 3600 // orders
    for number in range(orders):
        at = datetime.fromtimestamp(START.timestamp() + number * step, START.tzinfo)
        shop, cents = random.choice(SHOPS), random.randrange(100, 5_000)
        yield f"{{shop: {shop}, cents: {cents}, at: {at:%Y-%m-%dT%H:%M:%SZ}}}"


def write(path: Path, orders: int) -> None:
    """Write a file of orders."""
    path.write_text("".join(f"{line}\n" for line in lines(orders)))
