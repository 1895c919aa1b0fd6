"""Joins give pairs of values, and None where a side may have none."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
emails = p | "Emails" >> hr.Create([("amy", "amy@x")])
phones = p | "Phones" >> hr.Create([("amy", 111)])
# revealed: PCollection[tuple[str, tuple[str, int]]]
reveal_type((emails, phones) | hr.InnerJoin())
# revealed: PCollection[tuple[str, tuple[str, int | None]]]
reveal_type((emails, phones) | "Left" >> hr.LeftJoin())
# revealed: PCollection[tuple[str, tuple[str | None, int]]]
reveal_type((emails, phones) | hr.RightJoin())
# revealed: PCollection[tuple[str, tuple[str | None, int | None]]]
reveal_type((emails, phones) | hr.FullJoin())
# error: operator
_ = (emails, phones, phones) | hr.InnerJoin()
# error: operator
_ = (emails, p | hr.Create([1])) | hr.InnerJoin()
# error: operator
_ = emails | hr.InnerJoin()
