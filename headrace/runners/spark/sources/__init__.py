"""Sources: read in rounds by Python, or by Spark itself, with their watermarks in control rows."""
