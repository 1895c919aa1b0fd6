import attrs


@attrs.define
class Count:
    seen: int = 0

    def add(self, what: str) -> str:
        self.seen += 1
        return what
