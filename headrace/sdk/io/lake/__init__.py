"""Delta and Iceberg tables.

| module | content |
|---|---|
| `table_versions.py` | reading rows of a version, and changes between versions, of any format |
| `delta_source.py`, `iceberg_source.py` | the versions of the two formats |
| `read_lake.py` | the transforms that read |
"""
