"""The shuffle: elements, arrivals and control rows as rows between stages; writers and readers.

===============  ==============================================
module           content
===============  ==============================================
write            operators that send elements to the next level
key_group        hash buckets of keys
blocks           arrivals as columns
bundle_columns   bundles as plain data
arrow_bytes      Arrow tables as bytes
packed_integers  times and windows in few bytes
records          rows and named tuples by field
wire             rows between stages
control_rows     watermarks and processing time in the data
read             merges blocks after a batch shuffle
spilling         lists that spill to disk
arrival_facts    timestamps and counts of arrivals, as columns
placement        the partition of each key group
===============  ==============================================
"""
