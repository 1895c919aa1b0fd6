"""The documentation as a program: its pages taken apart, played, and held against the code."""
