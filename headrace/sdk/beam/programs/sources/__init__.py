"""Sources and sinks of Beam as ours: values, bounded sources and test streams."""
