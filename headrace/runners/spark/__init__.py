"""The runner on Spark."""
