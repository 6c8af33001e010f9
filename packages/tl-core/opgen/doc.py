"""What `help` and the reference say of an operator: the row's text, what the row implies, its example."""

from __future__ import annotations

import re

from opgen.argument_docs import argument_text
from opgen.operators import Form
from opgen.python_names import standard_keyword
from opgen.row import INTS, Elementwise

KINDS = {"bool": "bool", "int64": "integer", "float32": "floating-point", "complex64": "complex"}
BECOMES = {
    "float": "Integers and bool become the default floating-point type.",
    "int": "Bool becomes int64.",
    "bool": "The result is bool.",
    "real": "Complex elements give real ones.",
    "real float": "Complex elements give real ones, integers and bool the default floating-point type.",
    "complex": "The result is complex.",
}
FEWEST = 3  # a function of fewer arguments says in its first line what they are


def text(overloads: list[Form], signatures: list[str], spelled: dict[str, str]) -> str:
    """The text of a name that stands for these overloads, which read as `signatures` in Python.

    `spelled` has the manual's names of parameters by the schema's.
    """
    first = overloads[0]
    parts = [first.row.doc, *facts(first), *arguments(overloads, signatures, spelled)]
    if len(overloads) > 1:
        parts.append("Overloads::\n\n" + "\n".join(f"    {s}" for s in signatures))
    example = next((o.row.example for o in overloads if o.row.example), "")
    if example and first.variant == "functional":
        lines = [">>> import tl_core as tl"] if "tl." in example else []  # to run where it is read
        lines += example.splitlines()
        parts.append("Examples:\n" + "\n".join(f"    {line}".rstrip() for line in lines))
    return "\n\n".join(parts)


def arguments(overloads: list[Form], signatures: list[str], spelled: dict[str, str]) -> list[str]:
    """The `Args:` of a public function with three or more arguments."""
    base = overloads[0].schema.base
    names = list(dict.fromkeys(name for s in signatures for name in parameter_names(s)))
    public = signatures[0].partition("(")[0].rpartition(".")[2]
    standard = [(keyword, name) for name in names if (keyword := standard_keyword(public, name))]
    if base.startswith("_") or len(names) + len(standard) < FEWEST:
        return []
    own = {name: said for o in overloads for name, said in o.row.about.items()}
    schema_names = {shown: name for name, shown in spelled.items()}
    entries = [
        (name, argument_text(name, own) or argument_text(schema_names.get(name, name), own)) for name in names
    ]
    entries += [(keyword, f"the array API standard's name of {name}") for keyword, name in standard]
    return ["Args:\n" + "\n".join(f"    {name}: {text}." for name, text in entries if text)]


def parameter_names(signature: str) -> list[str]:
    """The names of the parameters of `f($self, x, y=(1, 2), *, out=None)`; `$self` isn't one."""
    inside = re.sub(r"=\([^)]*\)|=\"[^\"]*\"", "", signature.partition("(")[2].removesuffix(")"))
    names = [part.split("=")[0].split(":")[0].strip(" *") for part in inside.split(",")]
    return [name for name in names if name and name[0] not in "$/_"]


def facts(form: Form) -> list[str]:
    """Shapes, element types and derivative, as far as the row's fields tell them."""
    row, said = form.row, []
    if row.elementwise and not row.elementwise.moves:
        said.append(elements(row.elementwise))
    if row.view:
        said.append("A view: the result shares the tensor's memory.")
    if form.variant == "inplace":
        said.append("In place: changes the tensor and returns it.")
    if isinstance(row.grad, str) and row.grad.startswith("none:"):
        said.append(f"No derivative: {row.grad.removeprefix('none:')}.")
    return [" ".join(said)] if said else []


def elements(elementwise: Elementwise) -> str:
    """What an elementwise operator takes and gives."""
    taken = kinds(elementwise)
    shape = (
        "Any shape"
        if elementwise.inputs == 1
        else "Inputs are broadcast to one shape and promoted to one type"
    )
    said = [f"{shape}; {listed(taken)} elements.", BECOMES.get(elementwise.to, "")]
    converted = {"float": INTS, "real float": INTS, "int": ("bool",)}.get(elementwise.to, ())
    if len(taken) < len(KINDS) and not (converted and "complex" in taken):
        said.append("Others raise NotImplementedError.")
    return " ".join(s for s in said if s)


def kinds(elementwise: Elementwise) -> list[str]:
    """The families of element types that are taken."""
    return [word for dtype, word in KINDS.items() if dtype in elementwise.dtypes]


def listed(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
