"""The plan as text."""

from textwrap import dedent

import headrace as hr
from headrace.triggers import AccumulationMode, AfterBytes, AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, Sessions
from headrace.windowing.time import MAX_MICROS


def explained(pipeline):
    return hr.explain(pipeline) + "\n"


def test_a_word_count():
    p = hr.Pipeline()
    lines = p | "lines" >> hr.Create(["to be or not to be"])
    words = lines | "words" >> hr.FlatMap(str.split) | "pairs" >> hr.Map(lambda word: (word, 1))
    _ = words | "count" >> hr.CombinePerKey(sum) | "show" >> hr.Map(print)
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'lines' -> ParDo 'words' -> ParDo 'pairs'
        Level 1, after a shuffle by key
          CombinePerKey 'count'
            windows: GlobalWindows()
            trigger: DefaultTrigger()
            panes: discarding
            allowed lateness: 0:00:00
            combined before the shuffle: yes
            keeps: an accumulator
          ParDo 'show'
        """)


def test_hours_into_days_with_retractions():
    p = hr.Pipeline()
    mode = AccumulationMode.RETRACTING
    trigger = AfterWatermark(early=AfterCount(10), late=AfterCount(1))
    hours = "hours" >> hr.WindowInto(
        FixedWindows(3600), trigger=trigger, accumulation_mode=mode, allowed_lateness=7200
    )
    days = "days" >> hr.WindowInto(
        FixedWindows(86400), trigger=trigger, accumulation_mode=mode, allowed_lateness=90000
    )
    hourly = p | "read" >> hr.Create([("a", 1)]) | hours | "hourly" >> hr.CombinePerKey(sum)
    _ = hourly | days | "daily" >> hr.CombinePerKey(max)
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'read' -> AssignWindows 'hours'
        Level 1, after a shuffle by key
          CombinePerKey 'hourly'
            windows: FixedWindows(size=Duration(3600), offset=Duration(0))
            trigger: AfterWatermark(early=AfterCount(10), late=AfterCount(1))
            panes: retracting
            allowed lateness: 2:00:00
            combined before the shuffle: yes
            keeps: an accumulator; the last pane, to retract it
          AssignWindows 'days'
        Level 2, after a shuffle by key
          CombinePerKey 'daily'
            windows: FixedWindows(size=Duration(86400), offset=Duration(0))
            trigger: AfterWatermark(early=AfterCount(10), late=AfterCount(1))
            panes: retracting
            allowed lateness: 1 day, 1:00:00
            combined before the shuffle: yes
            keeps: a multiset of values, since its input can retract, and the CombineFn has no \
subtract_input; the last pane, to retract it
        """)


def test_branches_that_meet_again():
    p = hr.Pipeline()
    read = p | "read" >> hr.Create([("a", 1)])
    sized = hr.WindowInto(
        Sessions(60),
        trigger=Repeatedly(AfterBytes(100)),
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=hr.Duration(10**12),
    )
    windowed = read | "sessions" >> sized
    summed = windowed | "sum" >> hr.CombinePerKey(sum)
    spread = windowed | "spread" >> hr.Reshuffle()
    other = spread | "other" >> hr.Map(lambda pair: pair) | "w" >> hr.WindowInto(summed.windowing)
    _ = (summed, other) | "both" >> hr.Flatten()
    assert explained(p) == dedent("""\
        Level 0
          fused: Read 'read' -> AssignWindows 'sessions'
        Level 1, after a shuffle by key
          CombinePerKey 'sum'
            windows: Sessions(gap_size=Duration(60))
            trigger: Repeatedly(AfterBytes(100))
            panes: accumulating
            allowed lateness: 11574074 days, 1:46:40
            combined before the shuffle: no, the trigger sees elements
            keeps: an accumulator
          Reshuffle 'spread'
          fused: ParDo 'other' -> AssignWindows 'w'
          Flatten 'both'
        """)


def test_lateness_without_end():
    p = hr.Pipeline()
    for_ever = hr.WindowInto(FixedWindows(60), allowed_lateness=hr.Duration(micros=MAX_MICROS))
    _ = p | hr.Create([("a", 1)]) | for_ever | hr.GroupByKey()
    assert "allowed lateness: for ever" in explained(p)


def test_an_empty_pipeline():
    assert explained(hr.Pipeline()) == "Level 0\n"
