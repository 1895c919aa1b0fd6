"""Raise the numbers of stored formats that name classes of Headrace, since the classes have moved."""

import re
import subprocess
import sys
from pathlib import Path

path = Path("headrace/stored_formats.py")
text = path.read_text()
for name in ("KEY_STATE", "STATEFUL_STATE", "SIDE_INPUT_STATE", "CHUNKS", "POSITIONS", "MANIFEST"):
    text, count = re.subn(
        rf"^({name}: Final = )(\d+)$", lambda m: f"{m[1]}{int(m[2]) + 1}", text, flags=re.MULTILINE
    )
    assert count == 1, name
path.write_text(text)

(names,) = Path("headrace/sdk").rglob("stored/names.py")
text = names.read_text()
before = "If one of them moves, what it was stays here, and its old module keeps the name.\n"
assert before in text
after = "If one of them moves, the number of each format rises (:mod:`headrace.stored_formats`).\n"
names.write_text(text.replace(before, after))

(data,) = Path("headrace/sdk").rglob("stored/data.py")
text = data.read_text()
text, count = re.subn(r"^(FORMAT\b[^=]*= )1$", r"\g<1>2", text, flags=re.MULTILINE)
assert count == 1
data.write_text(text)

golden = Path("tests/serialization/format_1.json")
new = golden.with_name("format_2.json")
golden.rename(new)
test = Path("tests/serialization/test_format.py")
text = test.read_text()
for before, after in (
    ("format_1.json", "format_2.json"),
    ("test_what_version_1_wrote_is_read", "test_what_version_2_wrote_is_read"),
    ('FORMAT == 1, "keep what format 1 wrote', 'FORMAT == 2, "keep what format 2 wrote'),
):
    assert text.count(before) == 1, before
    text = text.replace(before, after)
test.write_text(text)

WRITE = """
import base64, json
from tests.serialization.test_format import GOLDEN, VALUES
from headrace.sdk.coders.stored.data import dumps
from headrace.sdk.coders.stored.stable import without_pickle
with without_pickle():
    written = {name: base64.b64encode(dumps(value)).decode() for name, value in VALUES.items()}
GOLDEN.write_text(json.dumps(written, indent=1) + "\\n")
"""
subprocess.run([sys.executable, "-c", WRITE], check=True)
