"""The benchmarks on small inputs: each answer is that of plain Python, on both runners and in both modes."""
