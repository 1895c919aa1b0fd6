"""Beam's Nexmark, from its wheel, runs with nothing but the name in its imports changed."""
