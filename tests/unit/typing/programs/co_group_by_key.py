"""CoGroupByKey gives a list of values for each of two or three collections."""

from typing import reveal_type

import headrace as hr

p = hr.Pipeline()
emails = p | "Emails" >> hr.Create([("amy", "amy@x")])
phones = p | "Phones" >> hr.Create([("amy", 111)])
ages = p | "Ages" >> hr.Create([("amy", 33.5)])
# revealed: PCollection[tuple[str, tuple[list[str], list[int]]]]
reveal_type((emails, phones) | hr.CoGroupByKey())
# revealed: PCollection[tuple[str, tuple[list[str], list[int], list[float]]]]
reveal_type((emails, phones, ages) | "Three" >> hr.CoGroupByKey())
# revealed: PCollection[tuple[str, tuple[list[int], ...]]]
reveal_type([phones, phones] | "List" >> hr.CoGroupByKey())
# revealed: PCollection[tuple[str, dict[str, list[Any]]]]
reveal_type({"emails": emails, "phones": phones} | "Dict" >> hr.CoGroupByKey())
# error: operator
_ = (emails, p | hr.Create([1])) | "Not pairs" >> hr.CoGroupByKey()
