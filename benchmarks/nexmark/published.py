"""Figures of others, as published: events per second on 16 cores, by query."""

from __future__ import annotations

CORES = 16

SOURCE = "https://github.com/feldera/feldera/blob/1eb7bb0a126737532cf03f5357a44c8142bfa456/benchmark/README.md"
"""Feldera's comparison; it does not name its machine. All ran in streaming mode."""

FELDERA = {
    0: 6_973_987, 1: 6_595_871, 2: 6_748_549, 3: 6_608_075, 4: 4_233_521, 5: 6_589_786, 6: 3_997_921,
    7: 3_136_763, 8: 6_641_870, 9: 910_680, 12: 6_682_259, 13: 3_675_255, 14: 6_858_711,
    15: 3_539_322, 16: 810_701, 17: 3_870_269, 18: 1_358_216, 19: 1_201_216, 20: 1_352_192,
    21: 6_634_820, 22: 6_305_568,
}  # fmt: skip

FLINK_SQL = {
    0: 2_642_776, 1: 2_604_438, 2: 3_122_073, 3: 2_039_692, 4: 501_017, 5: 661_901, 7: 281_262,
    8: 2_103_271, 9: 209_547, 11: 547_783, 12: 2_002_162, 13: 1_571_314, 14: 2_191_541, 15: 912_326,
    16: 233_294, 17: 1_713_796, 18: 511_146, 19: 1_011_419, 20: 266_441, 21: 1_229_695, 22: 1_521_838,
}  # fmt: skip

BEAM_ON_FLINK = {
    0: 283_366, 1: 316_056, 2: 517_331, 3: 555_247, 4: 93_712, 5: 251_699, 6: 88_488, 7: 194_970, 8: 396_511,
    9: 88_715, 10: 199_681, 11: 194_326, 12: 365_631, 13: 225_734,
}  # fmt: skip
"""Beam's Nexmark in Java. Its queries 14 to 16 are not those of Flink, and are left out."""


def per_core(figures: dict[int, int], number: int) -> float | None:
    """Return the published events per second and core of a query."""
    return figures[number] / CORES if number in figures else None
