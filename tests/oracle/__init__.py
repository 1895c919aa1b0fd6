"""A second model of grouping, from scratch, to hold the engine against.

It shares no code with ``headrace``: expressions of the engine are read as data (:mod:`translate`)
and played by functions that look at a window's whole story each time, however often they have seen
it. Nothing is kept up to date that can be found out again, so there is little that can be
forgotten; it is slow, and meant to be.

``story``     what has happened to a window, and what follows from it
``triggers``  when a window is ready and when it is done, as functions of its story
``windows``   where an element lies, and which windows become one
``taking``    which elements are taken
``kept``      what is kept of a key: its elements, in windows found out from them alone
``holds``     the timestamps of panes, and what holds the output watermark back
``contents``  what a pane says
``replay``    a script played against one grouping or several in a row
``translate`` the engine's expressions in the words of this model
"""
