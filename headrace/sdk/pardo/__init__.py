"""Functions on elements: Map, ParDo and DoFns, with side inputs, outputs and dead letters."""
