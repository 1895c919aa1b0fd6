"""Stateful DoFns at work: keys with states and timers, and the calls of their methods."""
