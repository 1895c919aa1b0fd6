"""Sources and sinks of Beam as ours.

====================  =================================================================================
module                concept
====================  =================================================================================
``plain_sources``     values, bounded sources and test streams
``external``          transforms of other languages: which of them are known, and which refused
``known``             such a transform that runs as one of ours
``java_settings``     settings of Kafka's Java client as those of librdkafka
``kafka_transforms``  Beam's transforms of Kafka as ours
``kafka_rows``        records of Kafka with metadata, as Beam's rows
``idle_clock``        a watermark that follows the clock when no records arrive
====================  =================================================================================
"""
