"""`python -m tools.cpp_functions [--all]`: parameters, lengths, comments and opening lines of the C++ code.

Each figure has a bound:

- no function with 12 parameters or more, at most 25 with 8 or more: many arguments are one struct. The
  parameters of PyTorch's own C functions (`TL_STABLE`) do not count;
- no function of more than 45 lines, from its name to the closing brace;
- at most 15 % of those of 25 lines and more without a comment, in them or right above;
- no `.cpp` file that doesn't begin with a line that says what it computes, and by which method;
- no file of more than 770 lines, except tables that a tool writes;
- no heading (`// ---- title ----`) whose dashes continue on the next line.

Only named functions with a body count; lambdas and local classes belong to the function around them. What a figure
counts is printed as `path:line: message` where it is over its bound, with `--all` everywhere; the exit status is 1 if a
figure is over its bound.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.includes import SUFFIXES
from tools.packages import ROOT

MANY, TOO_MANY, MOST_WITH_MANY = 8, 12, 25
LONGEST = 45
LONG, MOST_WITHOUT_COMMENT = 25, 0.15
LONGEST_FILE = 770
NOT_OURS = {"build", "vendor", "generated", "tests", ".venv"}

COMMENT_OR_LITERAL = re.compile(
    r"(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)"
    r'|R"(?P<mark>\w*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*#(?:\\\n|[^\n])*?(?=//|/\*|$)",
    re.DOTALL | re.MULTILINE,
)
HEADING = re.compile(r"^[ \t]*/[/*] ---- .*\n(?=[ \t]*(?://| \*) ---)", re.MULTILINE)
TEMPLATE = re.compile(r"\btemplate\s*(?=<)")
# What has parentheses of its own before or behind a parameter list: attributes, and macros that stand for declarations.
ATTRIBUTE = re.compile(
    r"(?:\b(?:__attribute__|decltype|alignas|noexcept|requires|explicit)|^\s*TL_\w+)\s*(?=\()", re.MULTILINE
)
SCOPE = re.compile(
    r"\s*(?:(?:\[\[[^]]*\]\]|static|inline)\s*)*(?:(?:namespace|class|struct|union|extern)\b|$)"
)
NAME = re.compile(r"(?:\boperator\s*(?:\(\s*\)|[^\w\s]+|[\w:<>*& ]+)|~?\b[A-Za-z_]\w*)\s*$")
OPERATOR = re.compile(r"\boperator\s*[^\w\s]*$")
INITIALIZERS = re.compile(r"(?<!:):(?!:)")
CLOSING = {"(": ")", "{": "}", "<": ">"}


@dataclass(frozen=True)
class Function:
    """A function that has a body."""

    path: Path
    line: int
    name: str
    parameters: int
    lines: int
    has_comment: bool


def code(text: str) -> tuple[str, set[int]]:
    """The text with comments, literals and directives blanked out, and the lines that hold a comment."""
    commented: set[int] = set()

    def blank(match: re.Match[str]) -> str:
        if match["comment"]:
            first = text.count("\n", 0, match.start()) + 1
            commented.update(range(first, first + match[0].count("\n") + 1))
        return re.sub(r"[^\n]", " ", match[0])

    return COMMENT_OR_LITERAL.sub(blank, text), commented


def closing(text: str, opening: int) -> int:
    """Where the bracket at `opening` is closed; the end of the text if it isn't."""
    one, other, depth = text[opening], CLOSING[text[opening]], 0
    for i in range(opening, len(text)):
        if text[i] == one:
            depth += 1
        elif text[i] == other and text[i - 1 : i + 1] != "->":
            depth -= 1
            if not depth:
                return i
    return len(text)


def without(text: str, pattern: re.Pattern[str]) -> str:
    """The text with what the pattern finds blanked out, and the bracket behind it."""
    while match := pattern.search(text):
        end = closing(text, match.end()) + 1
        text = text[: match.start()] + re.sub(r"[^\n]", " ", text[match.start() : end]) + text[end:]
    return text


def parameter_list(head: str) -> tuple[int, int] | None:
    """Where the parameter list of a definition begins and ends; None if it is none of a function."""
    depth = 0
    for i, c in enumerate(head):
        if c in "<>=" and OPERATOR.search(head[:i]):
            continue
        if c == "<":
            depth += 1
        elif c == ">" and head[i - 1] != "-":
            depth -= 1
        elif c == "=" and depth <= 0:
            return None
        elif c == "(" and depth <= 0 and NAME.search(head[:i]) and not re.search(r"\boperator\s*$", head[:i]):
            return i, closing(head, i)
    return None


def count(parameters: str) -> int:
    """The parameters of a list: what commas outside of brackets separate."""
    if parameters.strip() in ("", "void"):
        return 0
    depth, commas = 0, 0
    for i, c in enumerate(parameters):
        if c in "([{<":
            depth += 1
        elif c in ")]}" or (c == ">" and parameters[i - 1] != "-"):
            depth -= 1
        elif c == "," and not depth:
            commas += 1
    return commas + 1


def bodies(text: str) -> Iterator[tuple[int, int, int, tuple[int, int]]]:
    """(begin of the definition, its opening and closing brace, its parameter list) of the functions of blanked code."""
    begin = i = 0
    while i < len(text):
        if text[i] == "(":
            i = closing(text, i)
        elif text[i] in ";}":
            begin = i + 1
        elif text[i] == "{":
            head = without(without(text[begin:i], TEMPLATE), ATTRIBUTE)
            if SCOPE.match(head):
                begin = i + 1
            else:
                end = closing(text, i)
                found = parameter_list(head)
                # A brace behind a name in a constructor's list of initializers is not yet the body.
                initializes = found and INITIALIZERS.search(head, found[1]) and re.search(r"[\w>]\s*$", head)
                if found and not initializes:
                    yield begin, i, end, (begin + found[0], begin + found[1])
                    begin = end + 1
                i = end
        i += 1


def functions_in(path: Path, text: str) -> Iterator[Function]:
    """The functions that a file defines."""
    text, commented = code(text)

    def line_of(position: int) -> int:
        return text.count("\n", 0, position) + 1

    for begin, opening, end, (first, last) in bodies(text):
        name = NAME.search(text, begin, first)
        start = re.compile(r"\S").search(text, begin, opening)
        assert name and start
        line = line_of(name.start())
        has_comment = not commented.isdisjoint(range(line_of(start.start()) - 1, line_of(end) + 1))
        given = text[begin:first].lstrip().startswith("TL_STABLE")  # by PyTorch
        parameters = 0 if given else count(text[first + 1 : last])
        yield Function(path, line, name[0].strip(), parameters, line_of(end) - line + 1, has_comment)


def sources(root: Path = ROOT) -> list[Path]:
    """The C and C++ files of the packages that people write."""
    found = (f for f in (root / "packages").rglob("*") if f.suffix in SUFFIXES)
    return sorted(f for f in found if not NOT_OURS.intersection(f.relative_to(root).parts))


def opens(text: str) -> bool:
    """Whether a file begins with a comment of three words or more; the line of instruction sets isn't one."""
    line = next((line for line in text.splitlines() if not line.startswith("// isa:")), "")
    return line.startswith("//") and len(line.split()) > 3


@dataclass(frozen=True)
class Figure:
    """What is counted, and how many there may be."""

    what: str
    found: list[tuple[Path, int, str]]
    bound: int

    @property
    def is_over(self) -> bool:
        """Whether there are more than there may be."""
        return len(self.found) > self.bound


def parameters_of(f: Function) -> tuple[Path, int, str]:
    """Where a function stands, and how many parameters it has."""
    return f.path, f.line, f"{f.name}: {f.parameters} parameters"


def figures_of_files(texts: dict[Path, str]) -> list[Figure]:
    """The figures that count files and lines."""
    unopened = [
        (path, 1, "doesn't begin with a line that says what it computes")
        for path, text in texts.items()
        if path.suffix == ".cpp" and not opens(text)
    ]
    long = [
        (path, 1, f"{lines} lines")
        for path, text in texts.items()
        if (lines := text.count("\n")) > LONGEST_FILE and not text.startswith("// Written by tools/")
    ]
    split = [
        (path, text.count("\n", 0, match.start()) + 1, "the heading's dashes continue on the next line")
        for path, text in texts.items()
        for match in HEADING.finditer(text)
    ]
    return [
        Figure(".cpp files without an opening line", unopened, 0),
        Figure(f"files of more than {LONGEST_FILE} lines", long, 0),
        Figure("headings on two lines", split, 0),
    ]


def figures(root: Path = ROOT) -> list[Figure]:
    """The figures of a repository."""
    texts = {path: path.read_text(errors="replace") for path in sources(root)}
    functions = [f for path, text in texts.items() for f in functions_in(path, text)]
    with_many = [f for f in functions if f.parameters >= MANY]
    too_many = [f for f in with_many if f.parameters >= TOO_MANY]
    longer = [(f.path, f.line, f"{f.name}: {f.lines} lines") for f in functions if f.lines > LONGEST]
    long = [f for f in functions if f.lines >= LONG]
    bare = [(f.path, f.line, f"{f.name}: {f.lines} lines, no comment") for f in long if not f.has_comment]
    return [
        *figures_of_files(texts),
        Figure(f"functions with {TOO_MANY} parameters or more", [*map(parameters_of, too_many)], 0),
        Figure(f"functions with {MANY} parameters or more", [*map(parameters_of, with_many)], MOST_WITH_MANY),
        Figure(f"functions of more than {LONGEST} lines", longer, 0),
        Figure(
            f"of {len(long)} functions of {LONG} lines or more without a comment",
            bare,
            int(MOST_WITHOUT_COMMENT * len(long)),
        ),
    ]


def main() -> int:
    """Prints the figures; the exit status is 1 if one is over its bound."""
    found = figures()
    for figure in found:
        if figure.is_over or "--all" in sys.argv:
            for path, line, message in figure.found:
                print(f"{path.relative_to(ROOT)}:{line}: {message}")
        print(f"{len(figure.found)} {figure.what}, at most {figure.bound}")
    return 1 if any(figure.is_over for figure in found) else 0


if __name__ == "__main__":
    sys.exit(main())
