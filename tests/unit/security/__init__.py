"""Hostile values at each place where data becomes a path, SQL, HTML, a line of a log or a name elsewhere."""
