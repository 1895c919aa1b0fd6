"""Sources and sinks: files, tables, DataFrames, the console, and polled systems.

A reader of files (``file_source``) turns files into columns; each format is a subclass. It follows
growing directories (``watched_files``), reads parts of files on workers (``file_places``), and sends
malformed records to dead letters (``malformed_records``). A writer of files (``file_sink``) stages parts,
renames them when their batch is committed, and keeps a ``ledger`` of the published files;
``joined_pieces`` joins small parts. ``names_from_data`` keeps names that come from data below their
directory.

Every file is opened by ``open_file`` in ``files``: in a file system (``file_systems``), local or of
fsspec, and with ``compression``. ``matching_files``, ``matched_files``, ``read_all`` and
``write_by_destination`` are Beam's ``fileio``: elements name the files. Such files appear before their
batch is committed, since their names are elements; a pane that is written again replaces its file.
"""
