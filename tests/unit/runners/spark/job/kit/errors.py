class Spilled(Exception):
    """A user's error, of a module that only the workers import at first."""

    def __init__(self, litres: int, what: str) -> None:
        super().__init__(litres, what)
