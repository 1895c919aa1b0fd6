"""Approximate combiners, from sketches whose size is bounded."""
