"""Move modules of the package into the folders of a table, and rewrite what names them.

    python move_modules.py TABLE [--check]

Needs libcst, git, and a clean worktree as the current directory. A section of the table is a folder:

    doc      the docstring of the folder; an empty one keeps the docstring that the folder has
    package  the package whose ``__init__.py`` becomes that of the folder, instead of ``doc``
    modules  the modules that move into it, by their old names; "name as other" renames

Three passes over each file: ``from package import module`` by its syntax tree, then dotted names, in strings
and prose too, then paths of files. Modules that do not exist are skipped; modules below ``ROOTS`` without an
entry are listed, as is all that is left to do by hand. ``--check`` lists only.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import libcst as cst

ROOTS = ("headrace.sdk", "headrace.runners", "headrace.grouping", "headrace.triggers")
"""Packages whose modules should have an entry if the table has one of them."""

KEPT = re.compile(
    r"^headrace\.(runners\.(spark|local|direct|dataflow|portability|interactive|runner|precombine)\b"
    r"|runners\.(operator|error_context)$"
    r"|sdk\.(combiners|io\.table|testing\.strategies|observing\.(live|drawing))\.|runners\.grouping\.)"
)
"""Modules that stay where they are."""

PLACES = ("headrace", "tests", "tools", "benchmarks", "examples", "docs")
FILES = (".py", ".md", ".toml", ".yml", ".yaml", ".json", ".cfg", ".txt", ".sh", "")
HISTORY = ("CHANGELOG.md", "changelog.d/")
WIDTH = 110

MOVED = "moved_headrace"
"""Stands for headrace in what a pass has rewritten, so that the next pass leaves it."""


# ------------------------------------------------------------------------------------------- the table


class Tree:
    """A table: old names to new names."""

    def __init__(self, sections: Mapping[str, Mapping[str, object]]) -> None:
        self.docs = {folder: str(section.get("doc", "")) for folder, section in sections.items()}
        self.packages: dict[str, str] = {}
        self.modules: dict[str, str] = {}
        self.stays: set[str] = set()
        for folder, section in sections.items():
            if "package" in section:
                self.packages[str(section["package"])] = folder
            for entry in section["modules"]:  # type: ignore[attr-defined]
                old, _, new = entry.partition(" as ")
                name = f"{folder}.{new or old.rpartition('.')[2]}"
                if name == old:
                    self.stays.add(old)
                elif source_of(old) is not None:
                    self.modules[old] = name
                elif source_of(old) is None:
                    print(f"skipped: there is no {old}")
        twice = {n for n in self.modules.values() if list(self.modules.values()).count(n) > 1}
        assert not twice, twice
        self.names = {**self.packages, **self.modules}

    def renamed(self, dotted: str) -> str | None:
        """Return a dotted name with its new module; None if that stays."""
        parts = dotted.split(".")
        for end in range(len(parts), 1, -1):
            head = ".".join(parts[:end])
            if head in self.names:
                return ".".join([self.names[head], *parts[end:]])
            if source_of(head) is not None:
                return None  # a module that stays
        return None

    def unlisted(self) -> list[str]:
        """Return the modules that have no entry and are not to be kept."""
        stay = self.stays | set(self.modules) | set(self.modules.values())
        return sorted(
            name
            for path in Path("headrace").rglob("*.py")
            if path.name != "__init__.py"
            and (name := ".".join(path.with_suffix("").parts)).startswith(ROOTS)
            and any(other.startswith(name.rpartition(".")[0]) for other in self.modules)
            and name not in stay
            and not KEPT.match(name)
        )


def source_of(name: str) -> Path | None:
    """Return the file of a module, or of a package."""
    path = Path(*name.split("."))
    module, package = path.with_suffix(".py"), path / "__init__.py"
    return module if module.exists() else package if package.exists() else None


# ---------------------------------------------------------------------------------------------- text


class Imports(cst.CSTTransformer):
    """Rewrites ``from package import module`` where the module moves."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        node = updated_node.body[0]
        if not isinstance(node, cst.ImportFrom) or node.module is None or node.relative:
            return updated_node
        package = cst.Module([]).code_for_node(node.module)
        if not package.startswith("headrace") or isinstance(node.names, cst.ImportStar):
            return updated_node
        moved = [n for n in node.names if f"{package}.{n.name.value}" in self.tree.names]
        if not moved:
            return updated_node
        lines = [self._line(package, name) for name in moved]
        lines = [
            line.with_changes(trailing_whitespace=updated_node.trailing_whitespace)
            for line in lines
        ]
        rest = [name for name in node.names if name not in moved]
        if rest:
            rest[-1] = rest[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            kept = updated_node.with_changes(body=[node.with_changes(names=rest)])
            return cst.FlattenSentinel([kept, *lines])
        lines[0] = lines[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel(lines)

    def _line(self, package: str, name: cst.ImportAlias) -> cst.SimpleStatementLine:
        old = str(name.name.value)
        folder, _, new = self.tree.names[f"{package}.{old}"].rpartition(".")
        bound = name.evaluated_alias or old
        alias = f" as {bound}" if bound != new else ""
        text = f"from {MOVED}{folder.removeprefix('headrace')} import {new}{alias}"
        return cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)


DOTTED = re.compile(r"(?<![\w./-])headrace(?:\.\w+)+")
PATH = re.compile(
    r"(?<![\w.-])(?<![\w-]/)((?:\.\./)*)(headrace/)?((?:sdk|runners|triggers|grouping)/[\w/]+)\.py\b"
)


def rewritten(text: str, tree: Tree, is_python: bool) -> str:
    """Return the text of a file with new names."""
    if is_python and "headrace" in text:
        text = cst.parse_module(text).visit(Imports(tree)).code
    text = DOTTED.sub(lambda m: (tree.renamed(m[0]) or m[0]).replace("headrace", MOVED, 1), text)

    def path(match: re.Match[str]) -> str:
        old = "headrace." + match[3].removesuffix("/__init__").replace("/", ".")
        new = tree.names.get(old)
        if new is None:
            return match[0]
        below = "/".join(new.split(".")[1:])
        end = "/__init__.py" if match[3].endswith("/__init__") else ".py"
        return f"{match[1]}{match[2] or ''}{below}{end}"

    return PATH.sub(path, text).replace(MOVED, "headrace")


def wrapped(text: str) -> str:
    """Return Python source whose lines of prose are not longer than ``WIDTH``: words move to the next line.

    Lines of code, and first lines of docstrings, stay as they are.
    """
    lines, number, inside = text.split("\n"), 0, False
    while number < len(lines):
        line = lines[number]
        opens = line.count('"""') % 2 == 1
        prose = inside and not opens and not line.lstrip().startswith((">>>", "..."))
        comment = line.lstrip().startswith("# ")
        if len(line) > WIDTH and (prose or comment):
            _push_words(lines, number)
        inside ^= opens
        number += 1
    return "\n".join(lines)


def _push_words(lines: list[str], number: int) -> None:
    """Move the last words of a line to the next one, or to a new one."""
    line, following = lines[number], lines[number + 1]
    indent = line[: len(line) - len(line.lstrip())] + (
        "# " if line.lstrip().startswith("# ") else ""
    )
    cut = line.rindex(" ", 0, WIDTH)
    lines[number], rest = line[:cut], line[cut + 1 :]
    is_item = re.match(r"\s+\*{0,2}\w+: ", line) is not None
    deeper = following[: len(following) - len(following.lstrip())]
    goes_on = following.startswith(indent) and following[len(indent) :].strip()
    goes_on = goes_on and '"""' not in following and (is_item or len(deeper) <= len(indent))
    goes_on = goes_on and not re.match(r"\s+\*{0,2}\w+: ", following)
    if goes_on and not (is_item and deeper == indent):
        lines[number + 1] = (
            f"{deeper if is_item else indent}{rest} {following[len(deeper if is_item else indent) :]}"
        )
    else:
        lines.insert(number + 1, f"{indent}{'    ' if is_item else ''}{rest}")


def texts() -> Iterator[Path]:
    """Yield the files to rewrite."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        path = Path(name)
        is_ours = (
            path.parts[0] in PLACES or len(path.parts) == 1 or path.parts[0] in (".github", ".ci")
        )
        if is_ours and path.suffix in FILES and not name.startswith(HISTORY) and path.is_file():
            yield path


# --------------------------------------------------------------------------------------------- files


def git(*arguments: str) -> None:
    """Run git."""
    subprocess.run(["git", *arguments], check=True)


def move(tree: Tree) -> None:
    """Move the files, and write the docstrings of folders."""
    for package, folder in tree.packages.items():
        target = Path(*folder.split("."), "__init__.py")
        target.parent.mkdir(parents=True, exist_ok=True)
        git("mv", "-f", str(Path(*package.split("."), "__init__.py")), str(target))
    for old, new in tree.modules.items():
        target = Path(*new.split(".")).with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        git("mv", str(Path(*old.split(".")).with_suffix(".py")), str(target))
    for folder, doc in tree.docs.items():
        target = Path(*folder.split("."), "__init__.py")
        if doc and folder not in tree.packages.values():
            if target.exists() and len(cst.parse_module(target.read_text()).body) > 1:
                print(f"by hand: {target} has code, its docstring should be: {doc}")
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(f'"""{doc}"""\n')
        git("add", "-A", str(target))
    for package in sorted(Path("headrace").rglob("__init__.py")):
        only = [p for p in package.parent.iterdir() if p.name not in ("__init__.py", "__pycache__")]
        name = ".".join(package.parent.parts)
        if not only and any(old.startswith(f"{name}.") for old in tree.modules):
            print(f"removed: {package}, which had only modules that moved")
            git("rm", "-qf", str(package))


def left(tree: Tree) -> Iterator[str]:
    """Yield what is to be done by hand."""
    sizes: dict[Path, int] = {}
    for path in Path("headrace").rglob("*.py"):
        if path.name != "__init__.py":
            sizes[path.parent] = sizes.get(path.parent, 0) + 1
    for folder, size in sorted(sizes.items()):
        if size > 20:
            yield f"{folder} has {size} modules"
        if not (folder / "__init__.py").exists():
            yield f"{folder} has no __init__.py"
    yield from mentions(tree)


def mentions(tree: Tree) -> Iterator[str]:
    """Yield the lines of pages that name a moved module without its package."""
    leaves = {old.rpartition(".")[2] for old in tree.modules if "_" in old.rpartition(".")[2]}
    word = re.compile(rf"`(?:{'|'.join(sorted(leaves))})(?:\.py)?`")
    pages = (path for path in texts() if path.suffix == ".md")
    for path in pages:
        if not str(path).startswith("docs/reference"):
            numbered = enumerate(path.read_text().splitlines(), 1)
            found = ((number, name) for number, line in numbered for name in word.findall(line))
            yield from (f"{path}:{number} names {name}" for number, name in found)


def main() -> int:
    """Move and rewrite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--check", action="store_true", help="list modules without an entry only")
    arguments = parser.parse_args()
    tree = Tree(tomllib.loads(arguments.table.read_text()))
    for name in tree.unlisted():
        print(f"no entry: {name}")
    if arguments.check:
        return 0
    changed: dict[Path, str] = {}
    for path in texts():
        try:
            before = path.read_text()
        except UnicodeDecodeError:
            continue
        after = rewritten(before, tree, path.suffix == ".py")
        if after != before:
            changed[path] = wrapped(after) if path.suffix == ".py" else after
    for path, text in changed.items():
        path.write_text(text)
    move(tree)
    print(f"{len(tree.modules)} modules moved, {len(changed)} files rewritten")
    for line in left(tree):
        print(f"by hand: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
