"""Files of lines: text, CSV and JSON."""
