"""Checkpoints that earlier versions of Headrace have written, and what resumes from a checkpoint."""
