"""The cluster: sessions, requirements, code for the workers, and results on the driver.

================  =============================================
module            content
================  =============================================
options           command-line flags
session           the Spark session of a run
new_session       a new session and its settings
spark_home        a Spark home without pyspark.zip
jvm_log_filter    removes noise from the output of the JVM
spark_versions    what differs between versions of Spark
requirements      checks of Java, Python and packages
unpickling        plans as bytes; what a worker cannot unpickle
missing_packages  the error for a package that a worker lacks
connect           sessions of Spark Connect
error_transport   errors from workers to the driver
driver_sinks      sinks and metrics on the driver
file_retention    when files of side inputs are deleted
frame_sinks       sinks that create DataFrames
job_labels        labels of a pipeline in Spark's UI
observed_rows     reports of tasks to the observers of a run
paths             checks of the paths that flags name
code              the code of a program on the workers
================  =============================================
"""
