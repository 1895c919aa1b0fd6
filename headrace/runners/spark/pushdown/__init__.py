"""Steps of a batch that Spark's own plan does: from a DataFrame or Parquet files to panes of a grouping."""
