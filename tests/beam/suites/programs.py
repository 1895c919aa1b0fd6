"""Programs of apache_beam, which Headrace must run as Beam does; each returns a collection of a pipeline."""

from __future__ import annotations

import enum
from typing import Any

import apache_beam as beam
from apache_beam.coders import StrUtf8Coder, typecoders
from apache_beam.io.range_trackers import OffsetRangeTracker
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import combiners, trigger, userstate, window
from apache_beam.transforms.core import RestrictionProvider
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import Duration


def word_count(p):
    """Counts words, with a combiner that is lifted."""
    lines = p | beam.Create(["a mill by the weir", "the mill race", "a weir"])
    words = lines | beam.FlatMap(str.split)
    return words | combiners.Count.PerElement()


class Told(beam.DoFn):
    """Tells the window, timestamp and pane of each pane."""

    def process(
        self,
        element,
        at=beam.DoFn.TimestampParam,
        w=beam.DoFn.WindowParam,
        pane=beam.DoFn.PaneInfoParam,
    ):
        key, values = element
        yield (
            key,
            sorted(values),
            int(at),
            int(w.start),
            int(w.end),
            pane.timing,
            pane.index,
            pane.is_last,
        )


def early_and_late_panes(p):
    """Early, on-time and late panes of a test stream in fixed windows."""
    stream = (
        TestStream()
        .add_elements([window.TimestampedValue(("k", n), n) for n in (1, 2, 12)])
        .advance_watermark_to(5)
        .add_elements([window.TimestampedValue(("k", 3), 3)])
        .advance_watermark_to(11)
        .add_elements([window.TimestampedValue(("k", 4), 4)])
        .advance_watermark_to(25)
        .add_elements(
            [window.TimestampedValue(("k", 5), 5), window.TimestampedValue(("k", 21), 26)]
        )
        .advance_watermark_to_infinity()
    )
    windows = beam.WindowInto(
        window.FixedWindows(10),
        trigger=trigger.AfterWatermark(early=trigger.AfterCount(1), late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=10,
    )
    return p | stream | windows | beam.GroupByKey() | beam.ParDo(Told())


class Reminder(beam.DoFn):
    """Sums the values of a key, and tells the sum when a timer fires."""

    SUM = userstate.CombiningValueStateSpec("sum", combine_fn=sum)
    SEEN = userstate.BagStateSpec("seen", StrUtf8Coder())
    LAST = userstate.TimerSpec("last", TimeDomain.WATERMARK)

    def process(
        self,
        element,
        w=beam.DoFn.WindowParam,
        total=beam.DoFn.StateParam(SUM),
        seen=beam.DoFn.StateParam(SEEN),
        timer=beam.DoFn.TimerParam(LAST),
    ):
        _, value = element
        total.add(value)
        seen.add(str(value))
        timer.set(w.max_timestamp())

    @userstate.on_timer(LAST)
    def tell(
        self,
        key=beam.DoFn.KeyParam,
        total=beam.DoFn.StateParam(SUM),
        seen=beam.DoFn.StateParam(SEEN),
    ):
        yield key, total.read(), "".join(sorted(seen.read()))
        total.clear()


def state_and_timers(p):
    """A stateful DoFn with a timer at the end of each window."""
    values = p | beam.Create([("a", 1), ("b", 2), ("a", 3), ("a", 14), ("b", 15)])
    stamped = values | beam.Map(lambda kv: window.TimestampedValue(kv, kv[1]))
    return stamped | beam.WindowInto(window.FixedWindows(10)) | beam.ParDo(Reminder())


def created_with_timestamps(p):
    """Values that are created with timestamps; their type is that of the pairs from the next step on."""
    stamped = p | beam.Create([window.TimestampedValue(("a", n), n) for n in (1, 3, 14)])
    pairs = stamped | beam.Map(lambda kv: kv).with_output_types(tuple[str, int])
    return pairs | beam.WindowInto(window.FixedWindows(10)) | beam.ParDo(Reminder())


def timestamps_between_windows(p):
    """Elements that are in no window, or in several, get new timestamps."""

    def later(label):
        return label >> beam.Map(lambda t: window.TimestampedValue(t, t + 1))

    apart = p | "Apart" >> beam.Create([2, 3]) | later("Stamped apart")
    mixed = p | "Mixed" >> beam.Create([4, 5, 6, 8]) | later("Stamped mixed")
    made = [
        stamped
        | f"Window {n}" >> beam.WindowInto(windows)
        | later(f"Later {n}")
        | f"Told {n}" >> beam.Map(lambda t, at=beam.DoFn.TimestampParam: (t, int(at)))
        | f"Global {n}" >> beam.WindowInto(window.GlobalWindows())
        for n, (stamped, windows) in enumerate(
            [
                (apart, window.SlidingWindows(2, 8)),
                (mixed, window.SlidingWindows(2, 8)),
                (mixed, window.SlidingWindows(4, 2)),
            ]
        )
    ]
    return made | beam.Flatten()


def side_inputs(p):
    """Side inputs of each kind."""
    main = p | "Main" >> beam.Create([1, 2, 3])
    names = p | "Names" >> beam.Create([(1, "one"), (2, "two")])
    most = main | beam.CombineGlobally(max).without_defaults()
    return main | beam.Map(
        lambda x, names, top, all_of, many: (x, names.get(x), top, sorted(all_of), len(many[x])),
        beam.pvalue.AsDict(names),
        beam.pvalue.AsSingleton(most),
        beam.pvalue.AsList(main),
        beam.pvalue.AsMultiMap(names),
    )


def windowed_side_inputs(p):
    """A side input whose windows are other ones than those of the main input."""
    stamped = p | beam.Create(range(10)) | beam.Map(lambda t: window.TimestampedValue(t, t))
    main = stamped | "Main" >> beam.WindowInto(window.FixedWindows(5))
    side = stamped | "Side" >> beam.WindowInto(window.FixedWindows(7))
    return main | beam.Map(lambda x, ys: (x, sorted(ys)), beam.pvalue.AsList(side))


class Grain(enum.Enum):
    """Keys of a class."""

    RYE = 1
    OATS = 2


class Place:
    """A key that only a coder of the program can write."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, Place) and self.name.lower() == other.name.lower()

    def __hash__(self):
        return hash(self.name.lower())


class PlaceCoder(beam.coders.Coder):
    """Writes places in lower case, so that they are one key."""

    def encode(self, place):
        return place.name.lower().encode()

    def decode(self, encoded):
        return Place(encoded.decode())

    def is_deterministic(self):
        return True


typecoders.registry.register_coder(Place, PlaceCoder)


def keys_of_classes(p):
    """Keys that are enums, tuples with times, and of a class with a coder of its own."""
    places = p | "Places" >> beam.Create([Place("Bay"), Place("BAY"), Place("Cove")])
    by_place = (
        places
        | "Key" >> beam.Map(lambda place: (place, 1)).with_output_types(tuple[Place, int])
        | "Sum" >> beam.CombinePerKey(sum)
        | "Name" >> beam.MapTuple(lambda place, n: (place.name, n))
    )
    grains = p | beam.Create([(Grain.RYE, 1), (Grain.OATS, 2), (Grain.RYE, 3)])
    by_grain = grains | beam.GroupByKey() | beam.MapTuple(lambda g, ns: (g.name, sorted(ns)))
    return (by_place, by_grain) | beam.Flatten()


def sessions_with_outputs(p):
    """Sessions, and a DoFn with several outputs and exceptions."""

    def halve(pair):
        key, values = pair
        yield key, sorted(values)
        if len(values) > 1:
            yield beam.pvalue.TaggedOutput("many", len(values))

    stamped = (
        p | beam.Create([1, 2, 9, 30]) | beam.Map(lambda t: window.TimestampedValue(("k", t), t))
    )
    grouped = stamped | beam.WindowInto(window.Sessions(5)) | beam.GroupByKey()
    split = grouped | beam.FlatMap(halve).with_outputs("many", main="all")
    good, bad = stamped | "Bad" >> beam.Map(lambda kv: 1 // (kv[1] - 2)).with_exception_handling()
    letters = bad | beam.Map(lambda letter: ("failed", letter[0], letter[1][0].__name__))
    made = [
        pcoll | f"Global {n}" >> beam.WindowInto(window.GlobalWindows())
        for n, pcoll in enumerate((split.all, split.many))
    ]
    return (*made, good, letters) | beam.Flatten()


class Offsets(RestrictionProvider):
    """The offsets below an element, in two parts."""

    def initial_restriction(self, element):
        return OffsetRange(0, element)

    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)

    def restriction_size(self, element, restriction):
        return restriction.size()

    def split(self, element, restriction):
        return restriction.split(6)


OFFSETS = Offsets()
BY_HAND = ManualWatermarkEstimator.default_provider()


class Reader(beam.DoFn):
    """Emits each offset at its time; stops after some, and defers the others."""

    @beam.DoFn.unbounded_per_element()
    def process(
        self,
        element,
        at=beam.DoFn.TimestampParam,
        w=beam.DoFn.WindowParam,
        finalizer=beam.DoFn.BundleFinalizerParam,
        tracker=beam.DoFn.RestrictionParam(OFFSETS),  # Beam needs it after the others
        estimator=beam.DoFn.WatermarkEstimatorParam(BY_HAND),
    ):
        finalizer.register(str)
        offset = tracker.current_restriction().start
        for _ in range(4):
            if not tracker.try_claim(offset):
                return
            time = at + 10 * offset
            estimator.set_watermark(time)
            yield window.TimestampedValue((element, offset), time)
            if offset % 5 == 0:
                yield beam.pvalue.TaggedOutput("fifth", (element, str(w)))
            offset += 1
        tracker.defer_remainder(Duration(0.01) if element % 2 else None)


def splittable(p):
    """Reads offsets with a splittable DoFn, and groups them by event time."""
    elements = p | beam.Create([7, 10, 13])
    read = elements | beam.ParDo(Reader()).with_output_types(Any).with_outputs("fifth", main="all")
    told = (
        read.all
        | beam.WindowInto(window.FixedWindows(40))
        | beam.GroupByKey()
        | beam.ParDo(WithWindow())
        | "Back" >> beam.WindowInto(window.GlobalWindows())
    )
    return (told, read.fifth) | beam.Flatten()


class ReaderBeside(Reader):
    """The same offsets with side inputs, one in each call."""

    def process(
        self,
        element,
        names,
        w=beam.DoFn.WindowParam,
        rates=None,
        unit="s",
        tracker=beam.DoFn.RestrictionParam(OFFSETS),
    ):
        offset = tracker.current_restriction().start
        if tracker.try_claim(offset):
            yield element, offset, sorted(rates), names.get(element), unit, int(w.start)
            tracker.defer_remainder()


def splittable_beside(p):
    """Reads offsets with a splittable DoFn that has side inputs in the global window and in others."""
    names = beam.pvalue.AsDict(p | "Names" >> beam.Create([(3, "three")]))
    minutes = window.FixedWindows(60)
    stamped = [window.TimestampedValue(n, 10 * n) for n in (3, 7)]
    rates = p | "Rates" >> beam.Create(stamped) | "Rate minutes" >> beam.WindowInto(minutes)
    main = p | "Main" >> beam.Create(stamped) | "Main minutes" >> beam.WindowInto(minutes)
    read = beam.ParDo(ReaderBeside(), names, rates=beam.pvalue.AsIter(rates), unit="m")
    return main | read | "Back" >> beam.WindowInto(window.GlobalWindows())


class WithWindow(beam.DoFn):
    """Adds the start of the window."""

    def process(self, pair, w=beam.DoFn.WindowParam):
        yield pair[0], sorted(pair[1]), int(w.start)


class MillOptions(PipelineOptions):
    """Options of which workers get the value when the pipeline runs."""

    @classmethod
    def _add_argparse_args(cls, parser):
        parser.add_value_provider_argument("--mill", type=str, default="by the weir")


def value_providers(p):
    """Reads a value that is known when the pipeline runs: in a ParDo, in a CombineFn and in a source."""
    one = p | "One" >> beam.Create([1])
    mill = one.pipeline.options.view_as(MillOptions).mill
    named = one | beam.Map(lambda n: (n, mill.get()))
    joined = p | "Two" >> beam.Create([2]) | beam.CombineGlobally(lambda _: len(mill.get()))
    read = p | beam.io.Read(Named(mill))
    return (named, joined, read) | beam.Flatten()


class Named(beam.io.iobase.BoundedSource):
    """One element, with the value of a provider."""

    def __init__(self, provider):
        self.provider = provider

    def estimate_size(self):
        return 1

    def split(self, desired_bundle_size, start_position=None, stop_position=None):
        yield beam.io.iobase.SourceBundle(1, self, 0, 1)

    def get_range_tracker(self, start_position, stop_position):
        return OffsetRangeTracker(0, 1)

    def read(self, range_tracker):
        if range_tracker.try_claim(0):
            yield 3, self.provider.get()


BATCH = (
    word_count,
    state_and_timers,
    created_with_timestamps,
    timestamps_between_windows,
    side_inputs,
    windowed_side_inputs,
    keys_of_classes,
    sessions_with_outputs,
    splittable,
    splittable_beside,
    value_providers,
)
"""The programs that end."""
