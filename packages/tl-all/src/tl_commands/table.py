"""The commands of `tl`: the function that each of them calls, and the function that returns its parser."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Command:
    """A command.

    Args:
        summary: its line in the list.
        distribution: the package to install for it.
        module: the module with its functions, which is imported when the command runs.
        function: `function(arguments, program)` runs the command, and returns the exit status or None.
        parser: `parser(program)` returns the parser of its arguments; empty for a command that only names a program.
        has_program: whether errors of the user's program leave the function, with their tracebacks.
    """

    def __init__(
        self,
        summary: str,
        distribution: str,
        module: str,
        function: str = "main",
        parser: str = "get_parser",
        has_program: bool = False,
    ):
        self.summary = summary
        self.distribution = distribution
        self.module = module
        self.function = function
        self.parser = parser
        self.has_program = has_program

    def run(self, arguments: "Sequence[str]", program: str) -> int:
        """Runs the command.

        Args:
            arguments: the words after its name.
            program: the name, for messages.

        Returns:
            The exit status.

        Raises:
            ModuleNotFoundError: the package of the command is not installed.
        """
        return self._load(self.function)(arguments, program) or 0

    def get_parser(self, program: str) -> "Any":
        """The parser of the command's arguments, an `argparse.ArgumentParser`."""
        if self.parser:
            return self._load(self.parser)(program)
        from argparse import ArgumentParser

        parser = ArgumentParser(program)
        parser.add_argument("file", nargs="?")
        return parser

    def _load(self, name: str) -> "Any":
        from importlib import import_module

        return getattr(import_module(self.module), name)


def _of_files(name: str, summary: str) -> Command:
    return Command(summary, "tl-checkpoint", "tl_checkpoint.__main__", name, f"{name}_parser")


COMMANDS = {
    "run": Command(
        "start a program on several processes or machines, as torchrun does",
        *("tl-distributed", "tl_distributed.run", "command", "get_args_parser"),
    ),
    "torch": Command(
        "run a program in which torch is another name of tl",
        "tl-all",
        "tl.torch",
        "main",
        "",
        has_program=True,
    ),
    "stubs": Command("write stubs of torch for type checkers and editors", "tl-all", "tl.stubs"),
    "profile": Command(
        "run a program and show where its time and memory go",
        *("tl-profiler", "tl_profiler.__main__", "profile_program"),
    ),
    "inspect": _of_files("inspect", "list the tensors of a file of weights, without their data"),
    "verify": _of_files("verify", "compare the checksums of a file of weights"),
    "convert": _of_files("convert", "write a file of weights in another format"),
    "report": Command(
        "show where each process of a job stood when it stopped", "tl-distributed", "tl_distributed.report"
    ),
    "simulate": Command(
        "count the traffic and the memory of one rank of a large job",
        *("tl-distributed", "tl_distributed.simulate"),
    ),
    "env": Command(
        "print the environment, for a report of a bug", "tl-utils", "tl_utils.collect_env", "command"
    ),
    "explain": Command("describe causes and fixes of an error", "tl-all", "tl_commands.explain"),
    "examples": Command("list the example programs, or run one", "tl-all", "tl.examples.__main__"),
    "pip": Command("install libraries that ask for torch, without torch", "tl-all", "tl_commands.pip"),
}
