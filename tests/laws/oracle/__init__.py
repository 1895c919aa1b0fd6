"""An independent model of grouping, to test the engine against.

It shares no code with ``headrace``: it reads the engine's windowing strategies as data (:mod:`translate`),
and recomputes every decision from the complete history of a window. Nothing is updated incrementally, so no
update can be missing. It is slow on purpose.

``window_history``   the history of a window, and functions of it
``triggers``         when a trigger is ready and finished, as functions of the history
``windows``          window functions: assignment and merging
``lateness``         which elements are late
``retained_state``   the state of a key: its elements, and windows computed from them
``watermark_holds``  the timestamps of panes, and the holds on the output watermark
``contents``         the value of a pane
``replay``           runs a script through one grouping, or several in a row
``translate``        converts the engine's strategies to this model
"""
