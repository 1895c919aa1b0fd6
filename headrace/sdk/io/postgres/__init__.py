"""Tables of PostgreSQL as they are now, and all their changes from then on, by logical decoding.

:mod:`~headrace.sdk.io.postgres.pgoutput` reads the messages of the server's output plugin,
:mod:`~headrace.sdk.io.postgres.slot` the replication slot, :mod:`~headrace.sdk.io.postgres.snapshot` the
present rows, and :mod:`~headrace.sdk.io.postgres.source` joins them into one source.
"""
