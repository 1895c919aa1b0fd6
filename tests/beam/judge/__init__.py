"""The judge of Beam runners: seeded bugs, known misses of Beam's runners, and the random twin."""
