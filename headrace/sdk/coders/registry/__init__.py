"""The registry of coders: which coder a class has."""
