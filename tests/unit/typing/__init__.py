"""What a type checker knows of a pipeline: small programs, and what mypy says of each line of them."""
