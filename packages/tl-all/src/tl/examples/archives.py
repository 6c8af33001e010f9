"""Reads a TorchScript archive, retrains the last layer of its program for other labels, and writes it back.

    tl examples archives --archive digits.pt --out parity.pt

Without `--archive`, the program first trains a network for scikit-learn's handwritten digits and writes its archive. An
archive holds code and numbers, so reading needs no class of the model. The new labels say how often the pen closes a
loop: never, once (0, 4, 6, 9) or twice (8).
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import tl
from tl import nn
from tl.examples import digits
from tl.examples._program import Reached, command_line, finish, positive, progress, writable

LOOPS = [1, 0, 0, 0, 1, 0, 1, 0, 2, 1]
GOOD = 0.93


def write_archive(path: str, images: digits.Images, options: argparse.Namespace) -> None:
    """Trains a network for ten digits and writes its program.

    Args:
        path: the path of the archive.
        images: the images to learn from.
        options: the command line.
    """
    model = digits.network(16, 64)
    learn(model, list(model.parameters()), images, options)
    tl.jit.script(model.eval()).save(path)


def learn(
    model: Any, parameters: list[tl.Tensor], images: digits.Images, options: argparse.Namespace
) -> None:
    """Trains some parameters of a model.

    Args:
        model: a module, or a program from an archive.
        parameters: the parameters that change.
        images: the images to learn from, with their labels.
        options: the command line.
    """
    optimizer, loss = tl.optim.Adam(parameters, lr=2e-3), nn.CrossEntropyLoss()
    for _ in progress(options.epochs, "epoch", options.quiet):
        for rows in tl.randperm(len(images)).split(64):
            batch = images.rows(rows)
            optimizer.zero_grad()
            loss(model(batch.pixels), batch.digits).backward()
            optimizer.step()


def head_of(program: Any) -> list[tl.Tensor]:
    """The parameters of a program's last layer; all others take no gradients from now on.

    Args:
        program: a program from an archive.
    """
    parameters = list(program.named_parameters())
    last = parameters[-1][0].rpartition(".")[0]
    for name, parameter in parameters:
        parameter.requires_grad_(name.rpartition(".")[0] == last)
    return [parameter for _, parameter in parameters if parameter.requires_grad]


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = command_line("archives", __doc__, f"the accuracy is at least {GOOD}")
    parser.add_argument(
        "--archive", metavar="FILE.pt", help="the archive to read: a program with ten scores an image"
    )
    parser.add_argument("--out", metavar="FILE.pt", type=writable, help="keep the new archive here")
    parser.add_argument("--epochs", type=positive, default=8, help="passes over the images (8)")
    return parser


def run(options: argparse.Namespace) -> Reached:
    """Does what the command line says."""
    tl.manual_seed(options.seed)
    study, test = digits.split(digits.load(), 0.2)
    with tempfile.TemporaryDirectory() as folder:
        path, out = (
            options.archive or str(Path(folder, "digits.pt")),
            options.out or str(Path(folder, "loops.pt")),
        )
        if not options.archive:
            write_archive(path, study, options)
        program = tl.jit.load(path)
        before = digits.accuracy(program, test)
        loops = tl.tensor(LOOPS)
        study, test = (digits.Images(part.pixels, loops[part.digits]) for part in (study, test))
        learn(program.eval(), head_of(program), study, options)
        program.save(out)
        reread = tl.jit.load(out)
        after, equal = (
            digits.accuracy(reread, test),
            tl.equal(reread(test.pixels), program(test.pixels)),
        )
    figures = f"accuracy={before:.4f} loops={after:.4f} equal={equal}"
    return Reached(figures, "" if after >= GOOD and equal else f"loops>={GOOD} equal=True")


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    return finish(run, arguments().parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
