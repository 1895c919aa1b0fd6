"""What Headrace has only because Beam has it: the table of module paths, in paths.toml."""
