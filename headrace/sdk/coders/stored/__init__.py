"""Serialization: how values are written in the shuffle and in checkpoints.

names          the names of classes in stored data
fields         classes with fields, and values that were written before a field was added
checked_coder  a coder with clear errors
registered     the classes that programs register
stable         which classes are written without pickling, and contexts that refuse others
restoring      the functions that stored data calls
data           ``dumps`` and ``loads``
"""
