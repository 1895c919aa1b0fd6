"""Writes the reference of the public names into the pages of docs/reference.

A page says in a comment where names are described, and the text from there to the next such comment is
generated from signatures and docstrings. Links lead to the one page that describes a name.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from docstring_markdown import row, summary  # noqa: E402
from reference_entries import Entry, Member, describe, is_alias  # noqa: E402
from reference_sections import (  # noqa: E402
    AUTHORS,
    FOR_BEAM,
    MORE,
    Authors,
    section_of,
    sections_in_order,
)

from headrace.sdk.groups.combine_fn import CombineFn  # noqa: E402

FOLDER = ROOT / "docs/reference"
ORDER = (
    "windowing.md",
    "triggers.md",
    "testing.md",
    "combiners.md",
    "state.md",
    "io.md",
    "watch.md",
    "enrichment.md",
    "options.md",
    "metrics.md",
    "spark.md",
    "beam-programs.md",
    "headrace.md",
)
"""The pages; a name that several modules export is described on the first one."""

QUALIFIED = {"headrace.beam": "beam."}
"""What names begin with, of modules in which some are those of other modules with another meaning."""

PART = re.compile(r"<!-- reference of ([\w.]+) -->\n(.*?)<!-- end of the reference -->", re.DOTALL)
HEADING = re.compile(r"^(#+) ", re.MULTILINE)


@attrs.frozen
class Part:
    """A generated part of a page: the names of a module, or one name.

    Attributes:
        page: the file name of the page.
        path: the dotted path in the comment.
        level: the level of the headings of its names.
        has_sections: whether its names are divided into sections.
    """

    page: str
    path: str
    level: int
    has_sections: bool

    @cached_property
    def module(self) -> ModuleType:
        """The module that the path names, or that has the name that it names."""
        return import_module(self.path if _is_module(self.path) else self.path.rpartition(".")[0])

    @property
    def authors(self) -> Authors | None:
        """The section for authors of extensions."""
        return AUTHORS.get(self.path)

    def things(self) -> Iterator[tuple[str, Any]]:
        """Yield the names that are described, with what they stand for."""
        if self.module.__name__ != self.path:
            name = self.path.rpartition(".")[2]
            yield name, getattr(self.module, name)
            return
        hidden, start = FOR_BEAM.get(self.path, ()), QUALIFIED.get(self.path, "")
        for name in (name for name in self.module.__all__ if name not in hidden):
            if not isinstance(value := getattr(self.module, name), ModuleType):
                yield f"{start}{name}", value
        for path in (*MORE.get(self.path, ()), *(self.authors.more if self.authors else ())):
            module, _, name = path.rpartition(".")
            yield name, getattr(import_module(module), name)

    def section(self, name: str, value: Any) -> str:
        """Return the title of the section of a name."""
        if self.authors and name in self.authors:
            return self.authors.title
        return section_of(value)


@attrs.frozen
class Reference:
    """All pages, their parts and the entries of the names."""

    parts: tuple[Part, ...]

    @cached_property
    def entries(self) -> dict[str, tuple[Part, Entry]]:
        """The entry of each name, by name and by the identity of what it stands for."""
        found: dict[str, tuple[Part, Entry]] = {}
        seen: dict[int, str] = {}
        for part in self.parts:
            for name, value in part.things():
                if name in found or (not is_alias(value) and id(value) in seen):
                    continue
                seen[id(value)] = name
                found[name] = part, Entry(name, value, part.module)
        return found

    @cached_property
    def targets(self) -> dict[str, str]:
        """The page and anchor of each name, and of each member with a heading."""
        found = {}
        for part, entry in self.entries.values():
            for name, heading in self.headings(part, entry):
                found[name] = f"{part.page}#{slug(heading)}"
        return found

    def headings(self, part: Part, entry: Entry) -> Iterator[tuple[str, str]]:
        """Yield the names that an entry describes, each with its heading."""
        for thing in (entry, *entry.members(self.is_described)):
            yield thing.full_name, self.title(part, thing)

    @cached_property
    def anchors(self) -> Counter[tuple[str, str]]:
        """The number of names with the same anchor, by page and anchor."""
        return Counter(
            (part.page, slug(thing.full_name))
            for part, entry in self.entries.values()
            for thing in (entry, *entry.members(self.is_described))
        )

    def title(self, part: Part, thing: Entry | Member) -> str:
        """Return the heading of a name; a function whose name has the anchor of another says what it is."""
        name = thing.full_name
        is_shared = self.anchors[part.page, slug(name)] > 1
        return f"{name} ({thing.kind})" if is_shared and thing.kind else name

    def is_described(self, value: Any) -> bool:
        """Return whether a class has an entry of its own."""
        return any(entry.value is value for _, entry in self.entries.values())

    def link(self, page: str, within: str, path: str) -> str:
        """Return a name as a link, if it is described, or as code.

        Args:
            page: the page with the link.
            within: the class in whose docstring the name is.
            path: the name, after those of its modules or class, or alone.
        """
        words = path.split(".")
        for name in (".".join(words[-2:]), words[-1], f"{within}.{words[-1]}"):
            if name in self.targets:
                return f"[`{name}`]({self.from_page(page, self.targets[name])})"
        text = f"`{path if len(words) < 3 else words[-1]}`"
        target = self.targets.get(words[-2]) if len(words) > 1 else None  # an attribute of a class
        return f"[{text}]({self.from_page(page, target)})" if target else text

    def from_page(self, page: str, target: str) -> str:
        """Return a target as seen from a page."""
        return target.removeprefix(page) if target.startswith(f"{page}#") else target


def parts_of(page: str) -> Iterator[Part]:
    """Yield the generated parts of a page."""
    text = (FOLDER / page).read_text()
    for found in PART.finditer(text):
        above = len(HEADING.findall(PART.sub("", text[: found.start()]))[-1])
        is_module = _is_module(found[1])
        has_sections = is_module and above == 1
        yield Part(page, found[1], above + 1 + has_sections, has_sections)


def _is_module(path: str) -> bool:
    return path.rpartition(".")[2].islower()


def text_of(part: Part, reference: Reference) -> str:
    """Return the generated text of a part."""
    here = [entry for owner, entry in reference.entries.values() if owner is part or owner == part]
    if not part.has_sections:
        table = [contents(here, part, reference)] if len(here) > 1 else []
        return "\n\n".join([*table, *entries(here, part, reference)])
    by_section: dict[str, list[Entry]] = {}
    for entry in here:
        by_section.setdefault(part.section(entry.name, entry.value), []).append(entry)
    texts = [
        section(title, by_section[title], part, reference)
        for title in sections_in_order(by_section, part.authors)
    ]
    return "\n\n".join([*texts, *described_elsewhere(part, reference)])


def section(title: str, some: list[Entry], part: Part, reference: Reference) -> str:
    """Return a section of a page: its introduction, a table of its names, and their entries."""
    introduction = [part.authors.text] if part.authors and part.authors.title == title else []
    table = contents(some, part, reference)
    return "\n\n".join([f"## {title}", *introduction, table, *entries(some, part, reference)])


def contents(some: list[Entry], part: Part, reference: Reference) -> str:
    """Return a table of names with their meanings."""
    combines = part.page == "combiners.md" and any(map(_is_combine_fn, some))
    titles = ["name", "meaning", *(["subtracts"] if combines else [])]
    rows = [row(titles), f"{'|---' * len(titles)}|"]
    for entry in some:
        link = partial(reference.link, part.page, entry.name)
        meaning = summary(entry.docstring, link).replace("|", "\\|")
        rows.append(row([link(entry.name), meaning, subtracts(entry)][: len(titles)]))
    return "\n".join(rows)


def subtracts(entry: Entry) -> str:
    """Return whether a CombineFn can subtract inputs; nothing for other names."""
    if not _is_combine_fn(entry):
        return ""
    if entry.value.can_subtract is not CombineFn.can_subtract:
        return "if all its parts do"
    return "yes" if hasattr(entry.value, "subtract_input") else "no"


def _is_combine_fn(entry: Entry) -> bool:
    return isinstance(entry.value, type) and issubclass(entry.value, CombineFn)


def entries(some: list[Entry], part: Part, reference: Reference) -> Iterator[str]:
    """Yield the entries of a section."""
    for entry in some:
        link = partial(reference.link, part.page, entry.name)
        heading = f"{'#' * part.level} {reference.title(part, entry)}"
        title = partial(reference.title, part)
        yield f"{heading}\n\n{describe(entry, part.level, link, reference.is_described, title)}"


def described_elsewhere(part: Part, reference: Reference) -> list[str]:
    """Return a list of the names of a module that another page describes."""
    links = [
        reference.link(part.page, "", name)
        for name, _ in part.things()
        if name in reference.entries and reference.entries[name][0] != part
    ]
    if not links:
        return []
    return ["## Described on other pages", f"The module also has {', '.join(links)}."]


def slug(heading: str) -> str:
    """Return the anchor of a heading, the same on GitHub and on the site.

    >>> slug("WindowFn.is_merging")
    'windowfnis_merging'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def pages(names: Iterable[str] = ORDER) -> dict[Path, str]:
    """Return the text of pages as it should be."""
    reference = Reference(tuple(part for page in names for part in parts_of(page)))
    texts = {}
    for page in names:
        text = (FOLDER / page).read_text()
        for part in (part for part in reference.parts if part.page == page):
            before, after = f"<!-- reference of {part.path} -->", "<!-- end of the reference -->"
            start = text.index(before) + len(before)
            text = f"{text[:start]}\n\n{text_of(part, reference)}\n\n{text[text.index(after, start) :]}"
        check_anchors(page, text)
        texts[FOLDER / page] = text
    return texts


def check_anchors(page: str, text: str) -> None:
    """Refuse a page on which two headings have the same anchor."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    anchors = [slug(heading) for heading in re.findall(r"^#+ (.+)$", prose, re.MULTILINE)]
    twice = {anchor for anchor in anchors if anchors.count(anchor) > 1}
    if twice:
        raise SystemExit(f"{page}: more than one heading has the anchor {', '.join(twice)}")


def main() -> None:
    """Write the pages, or check that they are current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="check that the pages are current")
    only_check = parser.parse_args().check
    old = {path: text for path, text in pages().items() if path.read_text() != text}
    if only_check and old:
        names = ", ".join(str(path.relative_to(ROOT)) for path in old)
        raise SystemExit(f"not current: {names}; run `make reference`")
    for path, text in old.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
