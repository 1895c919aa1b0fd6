"""Serdes: serializers and deserializers of the keys and values of messages.

========== =============================================================
base       the base class
plain      bytes, text, numbers, and JSON
registry   schema registries: schemas by number, and the format of messages with such a number
avro       Avro, with a given schema or one of a registry
protobuf   Protocol Buffers
java_names the serdes that Beam names by a class of Java
========== =============================================================
"""
