"""The worker process in which a task runs.

============  ==========================================================
module        content
============  ==========================================================
connection    no delays between the function of a task and its rows
heap          keeps garbage collections of a worker short
task_context  partition and batch number of a task
============  ==========================================================
"""
