"""Advertisement events, some of them late, and what each campaign has of them by plain Python.

They are those of the benchmark's own generator: 100 campaigns with 10 ads each, one of three types of event,
and one of five types of ads. Event times are up to 50 milliseconds out of order, and some events are up to a
minute late.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Final, NamedTuple, TypeAlias

import attrs

CAMPAIGNS: Final = 100
ADS_OF_CAMPAIGN: Final = 10
AD_TYPES: Final = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES: Final = ("view", "click", "purchase")

WINDOW: Final = 10
"""The size of a window, in seconds."""

DISORDER: Final = 0.05
"""How many seconds events are out of order, unless they are late."""

LATEST: Final = 60
"""How many seconds the late events are late at most."""

Counts: TypeAlias = dict[tuple[str, int], int]
"""The views by campaign and start of the window, in seconds since 1970."""


class Message(NamedTuple):
    """An event, as it is sent to Kafka.

    Attributes:
        due: when it is sent, in seconds after the first.
        at: its event time, in milliseconds since 1970.
        data: the event as JSON.
    """

    due: float
    at: int
    data: bytes


def campaigns() -> dict[str, str]:
    """Return the campaign of each ad."""
    return {
        f"ad-{campaign:03}-{ad}": f"campaign-{campaign:03}"
        for campaign in range(CAMPAIGNS)
        for ad in range(ADS_OF_CAMPAIGN)
    }


@attrs.frozen
class Load:
    """Events at a constant rate.

    Attributes:
        rate: events per second.
        seconds: for how long.
        start: the time of the first event, in seconds since 1970.
        late: the share of late events.
    """

    rate: int
    seconds: int
    start: int
    late: float = 0.0001

    @property
    def events(self) -> int:
        """The number of events."""
        return self.rate * self.seconds

    def messages(self) -> Iterator[Message]:
        """Yield the events in the order in which they are sent."""
        random = Random(f"{self.rate} {self.seconds}").random
        ads = list(campaigns())
        for number in range(self.events):
            due = number / self.rate
            delay = random() * (LATEST if random() < self.late else DISORDER)
            at = int((self.start + due - delay) * 1000)
            event = (
                f'{{"user_id": "user-{int(random() * 100)}", "page_id": "page-{int(random() * 100)}",'
                f' "ad_id": "{ads[int(random() * len(ads))]}",'
                f' "ad_type": "{AD_TYPES[int(random() * len(AD_TYPES))]}",'
                f' "event_type": "{EVENT_TYPES[int(random() * len(EVENT_TYPES))]}",'
                f' "event_time": {at}, "ip_address": "1.2.3.4"}}'
            )
            yield Message(due, at, event.encode())


def window_of(at: int) -> int:
    """Return the start of a window, in seconds, from an event time in milliseconds."""
    return at // 1000 // WINDOW * WINDOW


def counts(messages: Iterable[Message]) -> Counts:
    """Return the views of each campaign and window, by plain Python."""
    campaign_of = campaigns()
    found: Counter[tuple[str, int]] = Counter()
    for message in messages:
        event = json.loads(message.data)
        if event["event_type"] == "view":
            found[campaign_of[event["ad_id"]], window_of(event["event_time"])] += 1
    return dict(found)


def windows_with_late_views(load: Load) -> set[tuple[str, int]]:
    """Return the windows that get a view later than the disorder after their end."""
    campaign_of = campaigns()
    found = set()
    for message in load.messages():
        window = window_of(message.at)
        if load.start + message.due > window + WINDOW + DISORDER and b'"view"' in message.data:
            found.add((campaign_of[json.loads(message.data)["ad_id"]], window))
    return found
