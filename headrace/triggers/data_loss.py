"""What a trigger can lose: it may finish, and what comes to its window afterwards is dropped.

Such a trigger is refused where a grouping uses it, unless the pipeline says
``allow_unsafe_triggers``. What was buffered and never fired is not lost: it goes out when the
window expires.
"""

from __future__ import annotations

from enum import Flag, auto


class DataLossReason(Flag):
    """Why a trigger may lose data (Beam's name).

    NO_POTENTIAL_LOSS: it never does. MAY_FINISH: it may finish while its window still takes
    elements. CONDITION_NOT_GUARANTEED: never given, since what is left goes out at the window's
    expiry; kept because Beam has it.

    >>> bool(DataLossReason.NO_POTENTIAL_LOSS)
    False
    """

    NO_POTENTIAL_LOSS = 0
    MAY_FINISH = auto()
    CONDITION_NOT_GUARANTEED = auto()
