"""The chain of servers that is disturbed for long: its program, what feeds it, its faults, and its reader."""
