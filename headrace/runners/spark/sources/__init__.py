"""Sources, read in rounds by Python or by Spark itself, and their watermarks.

=================  =======================================================
module             content
=================  =======================================================
data_source        sources that Python reads, as a Spark data source
native             sources that Spark reads
worker_reads       which sources the workers read, and which the driver reads
range_rows         ranges as rows: sent by the driver, read by the workers
read_elements      elements that the driver has read, as bytes
native_watermarks  watermarks of sources that Spark or the workers read
watermarks_before  watermarks before a batch, for the workers that read
timed_groupings    which groupings know these
caught_up          tells when a query has read what was there at its start
=================  =======================================================
"""
