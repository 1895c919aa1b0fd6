"""The code of a program on a cluster: how it reaches the workers, and what does not match there."""
