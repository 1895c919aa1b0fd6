"""Add the import contracts of the rooms to pyproject.toml, in the current directory."""

from pathlib import Path

EDGE = (
    'ignore_imports = ["headrace.sdk.pardo.exception_handling -> headrace.sdk.combiners.combine"]'
)

ROOMS = f"""[[tool.importlinter.contracts]]
name = "Rooms of the SDK: each imports those below it only"
type = "layers"
containers = ["headrace.sdk"]
layers = [
    "(beam)",
    "(observing)",
    "(testing)",
    "(io)",
    "(small)",
    "(polling)",
    "(joins)",
    "(batching)",
    "(combiners)",
    "(pardo)",
    "(groups)",
    "(sources)",
    "(pipelines)",
    "(metrics)",
    "(options)",
    "(typehints)",
    "(coders)",
    "(elements)",
]
exhaustive = true # a new room must be added here
# The threshold of failing elements is a Combine, which is made of ParDos.
{EDGE}

[[tool.importlinter.contracts]]
name = "Rooms of the runners: each imports those below it only"
type = "layers"
containers = ["headrace.runners"]
layers = [
    "(spark) : (local)",
    "(engine)",
    "(stateful)",
    "(side_inputs)",
    "(grouping)",
    "(plan)",
    "(precombine)",
    "(contents)",
    "(calls)",
    "(checks)",
    "(sources)",
    "(operator) : (error_context)",
    "(runner) : (direct) : (dataflow) : (interactive) : (portability)", # Beam's module paths
]
exhaustive = true

"""

path = Path("pyproject.toml")
text = path.read_text()


def put(before: str, after: str) -> None:
    """Replace a text that must be there once."""
    global text
    assert text.count(before) == 1, before
    text = text.replace(before, after)


if "exclude_type_checking_imports" not in text:
    put(
        "include_external_packages = true\n",
        "include_external_packages = true\n"
        "exclude_type_checking_imports = true # a graph names the types of what it holds, such as DoFns\n",
    )
start = '[[tool.importlinter.contracts]]\nname = "No package imports the flat'
put(start, ROOMS + start)
put(
    'ancestors = ["headrace", "headrace.**"]\n',
    f'ancestors = ["headrace", "headrace.**"]\n{EDGE}\n',
)
path.write_text(text)
