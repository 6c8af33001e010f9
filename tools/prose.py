"""`python -m tools.prose [--pages]`: words per 1,000 words of the documentation, against the limits of `prose.toml`.

CONTRIBUTING has the rules of the prose. A rule that a program can count has a pattern and a limit here.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools import doc_examples
from tools.packages import ROOT

LIMITS = Path(__file__).with_suffix(".toml")
PATTERNS = {
    "semicolons": r";",
    "what": r"\bwhat\b",
    "says, tells, knows, asks": r"\b(?:says?|said|tells?|told|knows?|knew|asks?|asked)\b",
    "stands, lies": r"\b(?:stands?|stood|lies|lay)\b",
    "nobody, nothing, none": r"\b(?:nobody|nothing|none)\b",
    "those of, that of": r"\b(?:those|that) of\b",
    "the reference for PyTorch": (
        r"\bthe reference(?:'s)? (?:has|gives|refuses|raises|says|does|computes|returns|takes)\b"
    ),
}
_CODE = re.compile(r"```.*?```|<!-- (\w+) -->.*?<!-- /\1 -->|`[^`]*`|\]\([^)]*\)|<[^>]*>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


def pages(root: Path = ROOT) -> Iterator[Path]:
    """The pages that people write: the site, READMEs, the pages for contributors."""
    every = (*doc_examples.pages(root), *sorted(root.glob(".github/*.md")))
    return (page for page in every if "generated" not in page.parts)


def counts(text: str) -> Counter[str]:
    """The number of words of a page, and the number of matches of each pattern.

    Args:
        text: the page in Markdown; code, links and the parts that tools write don't count.

    Example:
        >>> counts("It says what `;` is; you read.")["semicolons"]
        1
    """
    prose = _CODE.sub(" ", text)
    result = Counter(words=len(_WORD.findall(prose)))
    for name, pattern in PATTERNS.items():
        result[name] = len(re.findall(pattern, prose, re.IGNORECASE))
    return result


def rates(total: Counter[str]) -> dict[str, float]:
    """Matches per 1,000 words."""
    return {name: 1000 * total[name] / max(1, total["words"]) for name in PATTERNS}


def main() -> int:
    """Prints the rates; the exit status is 1 where one is above its limit."""
    by_page = {page: counts(page.read_text()) for page in pages()}
    limits = tomllib.loads(LIMITS.read_text())
    if "--pages" in sys.argv:
        for page, counted in sorted(by_page.items(), key=lambda item: -sum(rates(item[1]).values())):
            worst = ", ".join(
                f"{name} {rate:.1f}" for name, rate in rates(counted).items() if rate > limits[name]
            )
            print(f"{page.relative_to(ROOT)}: {counted['words']} words; {worst}")
    total = sum(by_page.values(), Counter())
    result = rates(total)
    for name, rate in result.items():
        print(f"{name:28} {rate:6.2f} of at most {limits[name]:.2f}")
    return 1 if any(rate > limits[name] for name, rate in result.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
