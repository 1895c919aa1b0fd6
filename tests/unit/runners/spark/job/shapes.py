"""A module beside a script: a DoFn that is set up where it works."""

from kit.count_fn import Count
from kit.till import Till

import headrace as hr


class IntoTills(hr.DoFn):
    """The till of each basket, an attrs class of a package beside the script."""

    def setup(self) -> None:
        self.count = Count()

    def process(self, element):
        shop, basket = element
        self.count.add(shop)
        yield Till(shop.name[0]), basket
