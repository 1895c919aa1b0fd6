"""Delta and Iceberg tables: data files by the workers, a commit for each batch, and reading by versions.

| module | content |
|---|---|
| `arrow_columns.py` | values and types of Python as columns and types of Arrow |
| `data_files.py` | Parquet files of a part, by partition and of a target size |
| `parts.py` | the elements of a part as an Arrow table, to append or to merge |
| `net_rows.py` | the net changes of a batch by key, over its parts |
| `table_schema.py` | whether the columns of a batch fit a table, and the columns to add |
| `compaction.py` | which small files are joined |
| `lake_table.py` | what the sink needs of a table format |
| `delta.py`, `iceberg.py`, `iceberg_merge.py` | writing the two formats |
| `sink.py` | the sink: parts, commits, conflicts with other writers |
| `write.py` | the transforms that write |
| `table_versions.py` | reading rows of a version, and changes between versions, of any format |
| `delta_source.py`, `iceberg_source.py` | the versions of the two formats |
| `read_lake.py` | the transforms that read |
"""
