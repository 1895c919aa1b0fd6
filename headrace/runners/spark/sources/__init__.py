"""Sources, read in rounds by Python or by Spark itself, and their watermarks.

=================  =======================================================
module             content
=================  =======================================================
data_source        sources that Python reads, as a Spark data source
native             sources that Spark reads
worker_reads       sources that the workers read in ranges
read_elements      elements that the driver has read, as bytes
native_watermarks  watermarks of sources that Spark or the workers read
caught_up          tells when a query has read what was there at its start
=================  =======================================================
"""
