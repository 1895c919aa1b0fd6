"""Where elements come from and go to: files, formats, tables, DataFrames and the console."""
