"""The account of a vehicle: the toll of a segment is charged when the vehicle goes on to the next one."""

from __future__ import annotations

from typing import Final

CHARGE: Final = 0
FORGET: Final = 1
NOTIFY: Final = 2
ASK: Final = 3
"""What an account is told, in the order in which it is done at one time: (one of these, a number)."""

Account = tuple[int, int]
"""The balance, and the toll of the segment in which the vehicle is."""


def book(before: Account | None, told: tuple[int, int]) -> tuple[Account, list[tuple[int, int]]]:
    """Return an account after it was told something; for a query also its number and the balance."""
    balance, due = before or (0, 0)
    does, number = told
    if does == CHARGE:
        return (balance + due, 0), []
    if does == FORGET:
        return (balance, 0), []
    if does == NOTIFY:
        return (balance, number), []
    return (balance, due), [(number, balance)]
