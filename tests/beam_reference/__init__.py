"""Beam as an independent implementation of the model: the same random cases, asked of its own code."""
