"""The site is consistent: all pages are in the navigation, and links have existing targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from headrace.runners.spark.cluster.options import SparkOptions
from tests.docs.doc_pages import FENCE, PAGES, name
from tests.support.repository import ROOT

DOCS = ROOT / "docs"
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
OPTION = re.compile(r"^\| `(--[a-z-]+)", re.MULTILINE)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(str(page.relative_to(DOCS)) for page in DOCS.glob("**/*.md"))
    assert sorted(listed(navigation())) == pages


def test_the_how_to_guides_are_grouped() -> None:
    (guides,) = (part["How-to"] for part in navigation() if "How-to" in part)
    groups = [name for part in guides for name in part]
    assert groups == ["Write a pipeline", "Read and write data", "Run", "Watch", "Test", "Move"]
    assert all(
        isinstance(pages, list) and len(pages) <= 13 for part in guides for pages in part.values()
    )


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    links = [link for link in LINK.findall(prose(page)) if "://" not in link]
    assert [link for link in links if not leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if DOCS in page.parents], ids=name)
def test_pages_of_the_site_link_to_pages_of_the_site(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(prose(page)) if "://" not in link]
    assert [
        link for link in links if link and DOCS not in (page.parent / link).resolve().parents
    ] == []


def test_run_on_spark_lists_the_options() -> None:
    listed_there = OPTION.findall((DOCS / "how-to/run-on-spark.md").read_text())
    said = {
        "--" + option.replace("_", "-")
        for option in SparkOptions([]).get_all_options(current_only=True)
    }
    assert said <= set(listed_there)
    assert set(listed_there) - said == {
        "--streaming",
        "--batch-seconds",
        "--max-records-per-batch",
        "--until-caught-up",
    }


def leads_somewhere(page: Path, link: str) -> bool:
    """Tell whether there are a file and, if the link names one, a heading at the end of it."""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """Return the names by which the headings of a page can be reached."""
    return {slug(heading) for heading in HEADING.findall(prose(page))}


def slug(heading: str) -> str:
    """Return the name of a heading, as MkDocs makes it.

    >>> slug("Why not Spark's own `watermark`?")
    'why-not-sparks-own-watermark'
    """
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCE.sub("", page.read_text())


def navigation() -> list[Any]:
    """Return the navigation of the site."""
    found: list[Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    return found


def listed(nav: Any) -> Iterator[str]:
    """Yield the pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from listed(list(nav.values()))
    else:
        for part in nav:
            yield from listed(part)
