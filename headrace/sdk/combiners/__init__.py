"""Ready-made combiners: counts, means, extremes, samples, collections."""
