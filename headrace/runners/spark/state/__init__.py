"""State: chunks of keyed state in Spark's state store, and the manifest of a checkpoint.

====================  =======================================================
module                content
====================  =======================================================
chunks                keyed state in chunks
chunked_keys          chunks of the states of keys
chunked_tiers         chunks of groupings with a light tier
stage_cache           stages that stay in a worker between batches
acquire_lease         takes a checkpoint for a run, or names its owner
lease                 the right of a run to write its checkpoint
lease_record          who owns a checkpoint, as numbered files
lease_files           these files on local disks and on Hadoop's file systems
processes             whether the process of an owner has ended
run_directory         the temporary directory of a run, which is deleted
control_files         what a run and the process that reads its sources tell each other
unloading             unloads the state of a query that has ended
checkpoint_manifest   compares a checkpoint with the pipeline
moved_checkpoint      lets the paths in a checkpoint lead to where it is now
signature             signatures of strategies and functions, as stable text
side_input_directory  where files with large side inputs are
stored_encodings      checks that stored keys still have their encodings
====================  =======================================================
"""
