"""`python -m tools.commit_message FILE`, the commit-msg hook; `--range A..B` reads the commits of a branch.

A subject has the form `area: verb …` with a verb of `imperatives.txt`. A commit that changes code of a package has a
body.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.packages import ROOT

LONGEST = 110  # characters of a subject
AREA = re.compile(r"[a-z][\w.+-]*(?:(?:, | and )[a-z][\w.+-]*)*")
CODE = re.compile(r"packages/[^/]+/(src|csrc|include|optable|opgen)/")
AUTOMATIC = re.compile(r"(Merge|Revert|fixup!|squash!) ")
VERBS = frozenset((ROOT / "tools" / "imperatives.txt").read_text().split())


def faults(message: str, changes_code: bool) -> list[str]:
    """The rules that a message breaks.

    Args:
        message: the text of the commit.
        changes_code: whether the commit changes code of a package.

    Returns:
        One line a rule.

    Example:
        >>> faults("gemm: prefetch the next panel of B", False)
        []
        >>> faults("gemm: a panel of B", True)
        ["the subject's verb is 'a': use an imperative such as add, remove, rename", 'a body is missing: say why']
    """
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0].strip() if lines else ""
    if AUTOMATIC.match(subject):
        return []
    area, colon, rest = subject.partition(": ")
    result = []
    if not colon or not AREA.fullmatch(area):
        result.append(f"the subject is {subject!r}: write `area: imperative`")
    elif (verb := rest.split(" ")[0].rstrip(",;")) not in VERBS:
        result.append(f"the subject's verb is {verb!r}: use an imperative such as add, remove, rename")
    if len(subject) > LONGEST:
        result.append(f"the subject has {len(subject)} characters: use at most {LONGEST}")
    if changes_code and not any(line.strip() for line in lines[1:]):
        result.append("a body is missing: say why")
    return result


def git(*arguments: str) -> str:
    """The output of a git command in the checkout."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def changes_code(names: str) -> bool:
    """Whether one of the changed files, a line each, is code of a package."""
    return any(CODE.match(name) for name in names.splitlines())


def main() -> int:
    """Prints the rules that messages break; the exit status is 1 if there are any."""
    if sys.argv[1] == "--range":
        commits = git("rev-list", "--reverse", "--no-merges", sys.argv[2]).split()
        messages = [
            (
                commit[:10],
                git("show", "-s", "--format=%B", commit),
                git("show", "--format=", "--name-only", commit),
            )
            for commit in commits
        ]
    else:
        messages = [("message", Path(sys.argv[1]).read_text(), git("diff", "--cached", "--name-only"))]
    lines = [
        f"{name}: {fault}"
        for name, text, changed in messages
        for fault in faults(text, changes_code(changed))
    ]
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
