"""Stateful DoFns: states, timers, and the node of a ParDo that uses them."""
