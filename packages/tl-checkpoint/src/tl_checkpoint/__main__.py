"""Checkpoints from a shell: `tl inspect`, `tl verify`, `tl convert`, or `python -m tl_checkpoint COMMAND`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from . import formats, inspection

PROGRAM = "python -m tl_checkpoint"
COMMANDS = ("inspect", "verify", "convert")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; 0 if all went well, 1 if a file is damaged or refused, 2 for a wrong call."""
    return _run(_parser().parse_args(arguments))


def inspect(arguments: Sequence[str], program: str) -> int:
    """The command `inspect` under the name of a program. Returns the exit status, as `main`."""
    return _run(inspect_parser(program).parse_args(arguments))


def verify(arguments: Sequence[str], program: str) -> int:
    """The command `verify` under the name of a program. Returns the exit status, as `main`."""
    return _run(verify_parser(program).parse_args(arguments))


def convert(arguments: Sequence[str], program: str) -> int:
    """The command `convert` under the name of a program. Returns the exit status, as `main`."""
    return _run(convert_parser(program).parse_args(arguments))


def _run(options: argparse.Namespace) -> int:
    status = 0
    for path in options.files:
        try:
            options.run(path, options)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except inspection.FAILURES as error:
            print(f"{path}: {_sentence(error)}", file=sys.stderr)
            status = 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    makers = (inspect_parser, verify_parser, convert_parser)
    for name, maker in zip(COMMANDS, makers, strict=True):
        parent = maker(f"{PROGRAM} {name}")
        commands.add_parser(
            name, parents=[parent], add_help=False, help=parent.description, description=parent.description
        )
    return parser


def inspect_parser(program: str) -> argparse.ArgumentParser:
    """The parser of `inspect`."""
    about = "names, shapes, types, sizes and checksums of a file's tensors; no data is read"
    parser = argparse.ArgumentParser(program, description=about)
    parser.add_argument("--keys", default="*", help="a pattern of names, such as 'enc.*'")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.set_defaults(run=_inspect)
    return parser


def verify_parser(program: str) -> argparse.ArgumentParser:
    """The parser of `verify`."""
    parser = argparse.ArgumentParser(program, description="compare every checksum, and the manifest")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.set_defaults(run=_verify)
    return parser


def convert_parser(program: str) -> argparse.ArgumentParser:
    """The parser of `convert`."""
    parser = argparse.ArgumentParser(program, description="write a file in another format")
    parser.add_argument("--to", required=True, metavar="FILE", help="the new file, .pt, .safetensors or .npz")
    parser.add_argument("--key", help="the entry of a .pt file whose tensors are meant, such as 'state_dict'")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("files", nargs=1, metavar="FILE")
    parser.set_defaults(run=_convert)
    return parser


def _inspect(path: str, options: argparse.Namespace) -> None:
    items = inspection.inspect(path, options.keys)
    rows = [
        (
            i.name,
            i.dtype or "-",
            i.shape,
            str(i.nbytes) if i.dtype else "-",
            "-" if i.crc is None else f"{i.crc:08x}",
        )
        for i in items
    ]
    header = ("name", "dtype", "shape", "bytes", "crc-32")
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(5)]
    for row in (header, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    count = sum(item.dtype is not None for item in items)
    print(f"{count} tensors, {sum(item.nbytes for item in items)} bytes")


def _verify(path: str, options: argparse.Namespace) -> None:
    with _bar(path) as progress:
        sentence = inspection.verify(path, progress)
    print(f"{path}: {sentence}")


def _convert(path: str, options: argparse.Namespace) -> None:
    formats.target_format(options.to)
    if os.path.exists(options.to) and not options.force:
        raise FileExistsError(f"{options.to} is there already; --force replaces it")
    with _bar(path) as progress:
        tensors = formats.load_tensors(path, options.key)
        formats.save_tensors(tensors, options.to)
        progress(os.path.getsize(path))
    print(f"{options.to}: {len(tensors)} tensors")


@contextlib.contextmanager
def _bar(path: str) -> Iterator[Any]:
    """A progress bar on a terminal, where tqdm (the extra `progress`) is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda count: None
        return
    total = os.path.getsize(path) if os.path.exists(path) else None
    with tqdm(
        total=total, unit="B", unit_scale=True, desc=os.path.basename(path), disable=None, leave=False
    ) as bar:
        yield bar.update


def _sentence(error: BaseException) -> str:
    """The first line of what an error says."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    refused = [line for line in lines if "Unsupported global" in line]
    return (refused or lines or [type(error).__name__])[0]


if __name__ == "__main__":
    sys.exit(main())
