"""Starts ranks quickly: a process that has loaded all forks one for each request, a line of JSON on its standard input.

A request has the arguments of `rank_program.py`, its environment, and the pipe that it writes to; the answer is the
number of its process.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import rank_program


def become_rank(request: dict[str, object]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, (path, flags) in enumerate(
        ((os.devnull, os.O_RDONLY), (request["pipe"], os.O_WRONLY), (request["pipe"], os.O_WRONLY))
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv[1:] = request["arguments"]
    rank_program.main()


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them but by descriptors
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            become_rank(json.loads(line))
            return
        print(pid, flush=True)


if __name__ == "__main__":
    main()
