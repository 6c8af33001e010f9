"""`python -m tools.format_rows [--check]`: formats the rows of packages/tl-core/optable, at most 110 columns wide.

A row is one call in a list ROWS. Its fields stand in groups, each on a line of its own, so that a diff shows what
changed: the signature and what computes it; dtypes and loops; forms; derivative; transforms; tests; text; example.
Everything else in these files is left to the formatter of all Python.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize

from tools.packages import ROOT

WIDTH = 110
OPTABLE = ROOT / "packages" / "tl-core" / "optable"
GROUPS = (
    ("to", "dtypes", "not_bool", "loops", "hot", "also", "once", "condition", "moves"),
    (
        *(
            "inplace",
            "out",
            "out_name",
            "function",
            "method",
            "namespace",
            "aliases",
            "second_names",
            "shown",
        ),
        *("devices", "view", "marked", "sparse", "random", "autocast"),
    ),
    ("names", "stored", "reported"),
    ("core", "array_api", "dimensions"),
    ("grad",),
    ("jvp", "batch", "inverse"),
    ("expr", "ref", "samples"),
    ("doc",),
    ("about",),
    ("example",),
)


def group_of(name: str) -> int:
    """The line of a field; 0 for the signature and what belongs to it."""
    return next((i for i, names in enumerate(GROUPS, 1) if name in names), 0)


# ---- long texts ----------------------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """A literal in double quotes."""
    quotes = {"'": "'", '"': '\\"'}
    return f'"{"".join(quotes.get(c) or repr(c)[1:-1] for c in text)}"'


def pieces(text: str, width: int) -> list[str]:
    """A text cut into literals of at most `width`, at spaces and after newlines."""
    done, rest = [], text
    while len(quoted(rest)) > width:
        end = len(rest)
        while len(quoted(rest[:end])) > width:
            cut = max(rest.rfind(" ", 0, end - 1), rest.rfind("\n", 0, end - 1))
            if cut < 0:
                break
            end = cut + 1
        if cut < 0:
            break
        done.append(quoted(rest[:end]))
        rest = rest[end:]
    return [*done, quoted(rest)] if rest else done


def template_pieces(literal: str, width: int) -> list[str]:
    """An f-string cut into f-strings of at most `width`, at spaces outside of its braces."""
    body, done = literal[2:-1], []
    while len(body) + 3 > width:
        depth, cut = 0, 0
        for i, letter in enumerate(body[: width - 3]):
            depth += (letter == "{") - (letter == "}")
            if letter == " " and depth == 0:
                cut = i + 1
        if not cut:
            break
        done.append(f'f"{body[:cut]}"')
        body = body[cut:]
    return [*done, f'f"{body}"']


def literals(text: str, width: int) -> list[str]:
    """The literals of a concatenation with f-strings, each at most `width` where it can be cut."""
    tokens = tokenize.generate_tokens(io.StringIO(f"({text})").readline)
    strings = [token.string for token in tokens if token.type == tokenize.STRING]
    parts = [
        template_pieces(s, width) if s.startswith("f") else pieces(ast.literal_eval(s), width)
        for s in strings
    ]
    return [piece for part in parts for piece in part]


def is_text(node: ast.expr) -> bool:
    """Whether it is a plain string."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def value_lines(source: str, prefix: str, node: ast.expr, indent: str) -> list[str]:
    """`prefix` and a value in as many lines as it needs, each at most WIDTH wide with the comma that follows."""
    text = ast.get_source_segment(source, node) or ""
    if is_text(node):
        text = quoted(node.value)  # type: ignore[attr-defined]
    if "\n" not in text and len(indent + prefix + text) < WIDTH:
        return [indent + prefix + text]
    deeper = indent + "    "
    if is_text(node):
        parts = pieces(node.value, WIDTH - len(deeper))  # type: ignore[attr-defined]
        return [f"{indent}{prefix}(", *(deeper + part for part in parts), f"{indent})"]
    if isinstance(node, ast.JoinedStr):
        return [
            f"{indent}{prefix}(",
            *(deeper + part for part in literals(text, WIDTH - len(deeper))),
            f"{indent})",
        ]
    if isinstance(node, ast.Dict):
        lines = [f"{indent}{prefix}{{"]
        for key, value in zip(node.keys, node.values):
            entry = value_lines(source, f"{ast.get_source_segment(source, key)}: ", value, deeper)  # type: ignore[arg-type]
            lines += with_comma(entry)
        return [*lines, f"{indent}}}"]
    joined = " ".join(line.strip() for line in text.splitlines())
    return [indent + prefix + joined]


def with_comma(lines: list[str]) -> list[str]:
    """The lines of a value and the comma after it."""
    return [*lines[:-1], f"{lines[-1]},"]


# ---- rows ----------------------------------------------------------------------------------------------------------


def fields(call: ast.Call) -> list[list[tuple[str, ast.expr]]]:
    """(prefix, value) of a call's arguments by group."""
    groups: list[list[tuple[str, ast.expr]]] = [[] for _ in range(len(GROUPS) + 1)]
    groups[0] = [("", value) for value in call.args]
    for keyword in call.keywords:
        prefix = f"{keyword.arg}=" if keyword.arg else "**"
        groups[group_of(keyword.arg or "")].append((prefix, keyword.value))
    for names, group in zip(GROUPS, groups[1:]):
        group.sort(key=lambda field, names=names: names.index(field[0].rstrip("=")))  # type: ignore[misc]
    return [group for group in groups if group]


def group_lines(source: str, group: list[tuple[str, ast.expr]], indent: str) -> list[str]:
    """A group on one line, or on more where it is too long."""
    lines: list[str] = []
    for prefix, value in group:
        own = value_lines(source, prefix, value, indent)
        if (
            lines
            and len(own) == 1
            and len(lines[-1]) + len(own[0].strip()) + 2 <= WIDTH
            and not lines[-1].endswith("),")
        ):
            lines[-1] += " " + own[0].strip() + ","
        else:
            lines += with_comma(own)
    return lines


def row_lines(source: str, element: ast.expr, indent: str = "    ") -> list[str]:
    """One element of ROWS; what is no call is left as it is."""
    star = "*" if isinstance(element, ast.Starred) else ""
    call = element.value if isinstance(element, ast.Starred) else element
    if isinstance(call, ast.GeneratorExp) and isinstance(call.elt, ast.Call):
        return generated_lines(source, call, indent)
    if not isinstance(call, ast.Call):
        text = ast.get_source_segment(source, element) or ""
        return [indent + line.strip() if i == 0 else line for i, line in enumerate(f"{text},".splitlines())]
    name = ast.get_source_segment(source, call.func)
    groups = fields(call)
    lines = [line for group in groups for line in group_lines(source, group, indent + "    ")]
    short = f"{indent}{star}{name}({' '.join(line.strip() for line in lines).removesuffix(',')}),"
    if len(groups) == len(lines) == 1 and len(short) <= WIDTH:
        return [short]
    return [f"{indent}{star}{name}(", *lines, f"{indent}),"]


def generated_lines(source: str, rows: ast.GeneratorExp, indent: str) -> list[str]:
    """`*(Row(...) for name in (...))`: the row, then each loop with an item a line where they don't fit on one."""
    row = row_lines(source, rows.elt, indent + "    ")
    lines = [f"{indent}*(", *row[:-1], row[-1].removesuffix(",")]
    for loop in rows.generators:
        target, inner = ast.get_source_segment(source, loop.target), indent + "    "
        target = target.strip("()") if target else ""
        whole = " ".join((ast.get_source_segment(source, loop.iter) or "").split())
        if len(f"{inner}for {target} in {whole}") <= WIDTH or not isinstance(loop.iter, ast.Tuple):
            lines.append(f"{inner}for {target} in {whole}")
        else:
            items = (line for item in loop.iter.elts for line in item_lines(source, item, inner + "    "))
            lines += [f"{inner}for {target} in (", *items, f"{inner})"]
    return [*lines, f"{indent}),"]


def item_lines(source: str, item: ast.expr, indent: str) -> list[str]:
    """One item of a loop."""
    text = " ".join((ast.get_source_segment(source, item) or "").split())
    if len(indent + text) < WIDTH or not isinstance(item, ast.Tuple):
        return [f"{indent}{text},"]
    parts = (with_comma(value_lines(source, "", part, indent + "    ")) for part in item.elts)
    return [f"{indent}(", *(line for part in parts for line in part), f"{indent}),"]


def comments(source: str) -> dict[int, str]:
    """The comments that have a line of their own, by line."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            is_ruler = token.string.endswith("----")
            found[token.start[0]] = token.string[: WIDTH - 4] if is_ruler else token.string
    return found


def list_lines(source: str, rows: ast.List) -> list[str]:
    """The elements of ROWS with the comments above them."""
    above, lines = comments(source), []
    line = rows.lineno
    for element in rows.elts:
        end = element.end_lineno or element.lineno
        lines += ["    " + above[number] for number in range(line + 1, end + 1) if number in above]
        lines += row_lines(source, element)
        line = end
    return lines


def rows_formatted(source: str) -> str:
    """The lists ROWS, formatted."""
    lines = source.splitlines()
    for node in reversed(ast.parse(source).body):
        match node:
            case ast.Assign(targets=[ast.Name(id="ROWS")], value=ast.List() as rows):
                first, last = rows.lineno, rows.end_lineno or rows.lineno
                lines[first - 1 : last] = ["ROWS = [", *list_lines(source, rows), "]  # fmt: skip"]
    return "\n".join(lines) + "\n"


def wide_call(source: str) -> ast.Call | None:
    """The last call of a function by its name that has a line which is too wide."""
    wide = {number for number, line in enumerate(source.splitlines(), 1) if len(line) > WIDTH}
    calls = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    found = [c for c in calls if wide.intersection(range(c.lineno, (c.end_lineno or c.lineno) + 1))]
    return max(found, key=lambda call: (call.lineno, -call.col_offset), default=None)


def call_formatted(source: str, call: ast.Call) -> str:
    """The source with a call outside of ROWS as a row, where it stands."""
    lines, first, last = source.splitlines(), call.lineno - 1, (call.end_lineno or call.lineno) - 1
    before, after = lines[first][: call.col_offset], lines[last][call.end_col_offset :]
    indent = before[: len(before) - len(before.lstrip())]
    row = row_lines(source, call, indent)
    row[0] = before + row[0].lstrip()
    row[-1] = row[-1].removesuffix(",") + after.removesuffix("  # fmt: skip")
    return "\n".join([*lines[:first], *row, *lines[last + 1 :]]) + "\n"


def formatted(source: str) -> str:
    """A file of rows, formatted."""
    source = rows_formatted(source)
    while (call := wide_call(source)) is not None:
        narrower = call_formatted(source, call)
        if narrower == source:
            break
        source = narrower
    return source


def main() -> int:
    """Formats all files; with --check, names those that differ or are too wide and exits with 1."""
    check, wrong = "--check" in sys.argv, False
    for file in sorted(OPTABLE.glob("*.py")):
        before = file.read_text()
        after = formatted(before)
        if after != before:
            wrong |= check
            print(f"{file.relative_to(ROOT)}: {'not formatted' if check else 'formatted'}")
            if not check:
                file.write_text(after)
        for number, line in enumerate(after.splitlines(), 1):
            if len(line) > WIDTH:
                wrong = True
                print(f"{file.relative_to(ROOT)}:{number}: {len(line)} columns")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
