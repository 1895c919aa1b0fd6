"""The plan of a graph: levels and steps, and its forms for people."""
