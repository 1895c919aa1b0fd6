"""Combining transforms, and ready-made CombineFns."""
