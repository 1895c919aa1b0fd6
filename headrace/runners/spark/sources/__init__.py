"""Sources, read in rounds by Python or by Spark itself, and their watermarks."""
