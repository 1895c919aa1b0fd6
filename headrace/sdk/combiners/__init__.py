"""Ready-made ways to combine: counts, means, extremes, samples, collections."""
