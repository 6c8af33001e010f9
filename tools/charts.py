"""Bar charts, in SVG, of the table that `tools.figures` writes: for the site, and one for README.md."""

from __future__ import annotations

import re
from html import escape

ROW = re.compile(r"^\| (?P<what>.+?) \| .*? \| (?P<ratio>\d+\.\d+)[^|]*\|(?: [\d.]* \|)?$", re.MULTILINE)
HOW = re.compile(r"^.*\bthreads?, .*torch.*$", re.MULTILINE)

# Each chart: its title, and the rows that it shows: the first group of the pattern is the bar's label.
CHARTS = {
    "Starting, and small operators": (
        r"fresh process: (.*): time|(call overhead): geometric mean.*|autograd: (MLP SGD step)|"
        r"autograd: (10 small operators, forward and backward)"
    ),
    "Training and inference": r"training: (.*)|inference: (.*)",
    "Operators, geometric means": (
        r"(?!call overhead|orders of 1 M elements, against NumPy|checkpoint|elementwise, reductions)"
        r"(.*): geometric mean of \d+ cases"
    ),
    "Data and checkpoints": r"(loading: (?!.*against plain indexing).*)|checkpoint of 400 MB: (.*)",
}

# README.md shows a few rows, and draws on white, as it has no style sheet.
PICTURE = (
    r"fresh process: (import): time|(call overhead): geometric mean.*|autograd: (MLP SGD step)|"
    r"(reductions|indexing): geometric mean.*|(training: .*|inference: .*)|(loading: objects, 2 workers)|"
    r"checkpoint of 400 MB: (load), .*compared"
)
STYLE = (
    "text{font:12px sans-serif;fill:#222}.value{font-size:11px;fill:#555}.faster{fill:#2a8f6f}.slower{fill:#c9822b}"
    "line{stroke:#999;stroke-dasharray:3 3}"
)

# In units of the drawing. A chart is about as wide as a telephone, so that its text keeps its size there.
WIDTH, BAR, STEP, TOP, BOTTOM = 360, 9, 32, 8, 22
VALUE_WIDTH = 44


def rows(text: str) -> dict[str, float]:
    """What was measured, and tl's time divided by PyTorch's, of the first table with that row."""
    found: dict[str, float] = {}
    for row in ROW.finditer(text):
        found.setdefault(row["what"], float(row["ratio"]))
    return found


def bars(measured: dict[str, float], pattern: str) -> dict[str, float]:
    """The bars of one chart: label -> ratio."""
    found = {}
    for what, ratio in measured.items():
        if match := re.fullmatch(pattern, what):
            found[next(group for group in match.groups() if group)] = ratio
    return found


def shortened(label: str, most: int = 50) -> str:
    """A label that fits above its bar."""
    return label if len(label) <= most else label[: most - 1] + "…"


def bar(index: int, label: str, ratio: float, scale: float) -> list[str]:
    """A bar with its label above it and the ratio behind it; the part beyond PyTorch's time has another colour."""
    y = TOP + index * STEP
    kind = "faster" if ratio <= 1 else "slower"
    return [
        f'<text x="0" y="{y + 10}">{escape(shortened(label))}</text>',
        f'<rect class="{kind}" x="0" y="{y + 15}" width="{ratio * scale:.1f}" height="{BAR}" rx="2">',
        f"<title>{escape(label)}: {ratio:.3f} of PyTorch's time</title></rect>",
        f'<text class="value" x="{ratio * scale + 5:.1f}" y="{y + 23.5}">{ratio:.2f}</text>',
    ]


def chart(title: str, shown: dict[str, float]) -> str:
    """One chart as an SVG element; a dashed line stands at PyTorch's time."""
    scale = (WIDTH - VALUE_WIDTH) / max(1.0, *shown.values())
    height = TOP + len(shown) * STEP + BOTTOM
    lines = [
        f'<svg class="figure-chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    ]
    lines += [
        f'<line x1="{scale:.1f}" x2="{scale:.1f}" y1="{TOP}" y2="{height - BOTTOM + 4}"/>',
        f'<text class="value" text-anchor="middle" x="{scale:.1f}" y="{height - 4}">PyTorch = 1</text>',
    ]
    for index, (label, ratio) in enumerate(shown.items()):
        lines += bar(index, label, ratio, scale)
    return "\n".join([*lines, "</svg>"])


def picture(text: str) -> str:
    """The chart of README.md, a file of its own."""
    shown = bars(rows(text), PICTURE)
    svg = chart("Time of tl divided by the time of PyTorch", shown)
    size = f'xmlns="http://www.w3.org/2000/svg" width="{WIDTH}"'
    head, rest = svg.replace("<svg", f"<svg {size}", 1).split(">", 1)
    paper = f'<style>{STYLE}</style><rect width="100%" height="100%" fill="white"/>'
    return f"{head}>{paper}{rest}\n"


def page(text: str) -> str:
    """All charts that have bars, with a line that says how the figures were measured."""
    measured = rows(text)
    lines = ['<div class="figure-charts">']
    for title, pattern in CHARTS.items():
        if shown := bars(measured, pattern):
            lines += [f"<figure><figcaption>{escape(title)}</figcaption>", chart(title, shown), "</figure>"]
    how = HOW.search(text)
    return "\n".join([*lines, "</div>", f"<p><small>{escape(how[0]) if how else ''}</small></p>", ""])
