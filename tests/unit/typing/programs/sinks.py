"""A sink ends a branch: nothing is applied to its end."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
words = p | hr.Create(["to", "be"])


class Shout(hr.io.Sink):
    def write(self, batch: hr.io.SinkBatch) -> None:
        print(*batch.bundle.values)


# revealed: PDone
reveal_type(words | hr.Write(Shout()))
# revealed: PDone
reveal_type(words | "Text" >> hr.io.WriteToText("out"))
# revealed: PDone
reveal_type(words | hr.io.WriteToConsole())
# error: operator
_ = words | hr.Write(Shout()) | hr.Map(len)
# error: operator
_ = p | hr.io.WriteToText("out")
# error: arg-type
_ = words | hr.Write(Shout)
