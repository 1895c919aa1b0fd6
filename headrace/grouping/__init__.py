"""The engine of groupings, in which the model's four questions meet.

:mod:`headrace.grouping.facts` is the fact sheet of a grouping. The rest of the engine is in
:mod:`headrace.triggers`.
"""
