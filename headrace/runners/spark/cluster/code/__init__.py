"""The code of a program on a cluster: how it reaches the workers, and what does not match there.

=============  =================================================
module         content
=============  =================================================
packaging      code for the workers
archive        a job and its packages as a zip file
main_classes   classes of ``__main__`` on the workers
version_match  checks that driver, JVM and cluster run one Spark
worker_checks  checks of the workers before a run
=============  =================================================
"""
