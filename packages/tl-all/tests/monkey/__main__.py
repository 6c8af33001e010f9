"""Makes calls, each written into a file before it is made, so that a crash names it."""

from __future__ import annotations

import argparse
import copy
import gc
import operator
import os
import pickle
import resource
import signal
import sys
import warnings
from collections import Counter
from typing import Any

import tl
from monkey import environment
from monkey.calls import Calls

SECONDS = 60  # more is a hang
ADDRESSES = 5 << 30  # sizes beyond it raise


def limited() -> None:
    """Limits the memory, unless a sanitizer needs more addresses than there is memory."""
    if "TL_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def scope() -> dict[str, Any]:
    """What the expressions name."""
    return {**vars(environment), "copy": copy, "operator": operator, "pickle": pickle}


def restore() -> None:
    """What calls may leave switched."""
    tl.set_default_dtype(tl.float32)
    tl.set_grad_enabled(True)


def make(text: str, names: dict[str, Any]) -> str:
    """Makes a call; how it ended."""
    try:
        repr(eval(text, names))
    except SystemError as error:  # CPython found a broken rule of its interface
        return f"SystemError: {error}"
    except Exception as error:
        return type(error).__name__
    return "returned"


def main() -> None:
    """Reads the arguments and makes the calls; the last line of the output counts how they ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--log", default="/dev/stdout")
    options = parser.parse_args()
    limited()
    warnings.simplefilter("ignore")
    calls, names, ends = Calls(options.seed), scope(), Counter[str]()
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(options.first, options.first + options.count):
        text = calls.call(number)
        os.write(log, f"{number}\t{text}\n".encode(errors="backslashreplace"))
        signal.alarm(SECONDS)
        end = make(text, names)
        signal.alarm(0)
        if end.startswith("SystemError"):
            os.write(log, f"{number}\t# {end}\n".encode())
            sys.exit(3)
        ends[end] += 1
        restore()
        if number % 100 == 0:
            gc.collect()
    print(dict(ends.most_common()))


if __name__ == "__main__":
    main()
