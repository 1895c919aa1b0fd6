"""The bank: transfers between accounts, whose balances must add up to 0 at every moment that a reader sees.

It is the test of "Internal consistency in streaming systems" (Jamie Brandon, 2021). Credits are the sums of
amounts by the account that receives them, debits the sums by the account that pays; a join of both gives the
balances, and the sum of all balances is the total.

- :mod:`transfers`: the transfers, out of order, as a source; and the answers of plain Python.
- :mod:`programs`: the programs in Headrace, one of which is also a program of Beam.
- :mod:`reader`: looks at the tables, and counts wrong totals; :mod:`outside` looks all the time.
- :mod:`in_headrace`, :mod:`in_beam`, :mod:`in_structured_streaming`: one run on each system.
- :mod:`report`: the section of the page.

Run it with ``python -m benchmarks.bank`` from a checkout.
"""
