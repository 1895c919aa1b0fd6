"""What Headrace has only because Beam has it: names, sources and sinks, and a table of module paths."""
