"""Starts a job of several processes, watches it and starts it again: `tl run`, `tlrun`.

    tl run --standalone --nproc-per-node 2 train.py --epochs 3
    tl run --nproc-per-node 4 --max-restarts 3 -m package.train
    tl run --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29400 train.py

Without the façade, `python -m tl_distributed.run` is the same command.

Workers find each other by the variables RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
Every option may be given as a variable too: PET_NPROC_PER_NODE for `--nproc-per-node`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points

from tl_core.base.programs import AS_TORCH_HINT, lacks_torch

from .base import cluster
from .base.errors import DistError
from .elastic.multiprocessing import ChildFailedError, DefaultLogsSpecs, LogsSpecs, SignalException, Std
from .elastic.multiprocessing.errors import record
from .elastic.rendezvous import RendezvousError
from .elastic.rendezvous.utils import parse_config
from .elastic.utils.log_level import get_log_level
from .launcher.api import AS_TORCH, LaunchConfig, elastic_launch
from .launcher.argparse_util import check_env, env

__all__ = ["command", "config_from_args", "get_args_parser", "main", "parse_args", "run"]

PROGRAM = "python -m tl_distributed.run"


def _value(
    parser: argparse.ArgumentParser,
    name: str,
    default: object,
    text: str,
    *short: str,
    kind: Callable[[str], object] = str,
) -> None:
    """Adds an option that may be spelled with dashes or underscores, and whose default may be a variable."""
    parser.add_argument(*short, *_spellings(name), action=env, type=kind, default=default, help=text)


def _flag(parser: argparse.ArgumentParser, name: str, text: str, *short: str) -> None:
    parser.add_argument(*short, *_spellings(name), action=check_env, help=text)


def _spellings(name: str) -> list[str]:
    return list(dict.fromkeys([f"--{name.replace('_', '-')}", f"--{name}"]))


def get_args_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        program: the name of the program, for messages.

    Example:
        >>> get_args_parser().parse_args(["--nproc-per-node", "2", "train.py", "--lr", "1"]).training_script_args
        ['--lr', '1']
    """
    parser = argparse.ArgumentParser(program, description="Starts a job of several processes.")
    value, flag = partial(_value, parser), partial(_flag, parser)
    value("nnodes", "1:1", "how many machines: N, MIN:MAX, or auto: as many as SLURM says")
    value("nproc_per_node", "1", "workers of each machine: a number, cpu, gpu or auto")
    value("rdzv_backend", "static", "how agents agree: static, c10d or etcd")
    value("rdzv_endpoint", "", "host:port of the agents' store")
    value("rdzv_id", "none", "the job's name")
    value("rdzv_conf", "", "further options of it: key=value,key=value")
    flag("standalone", "one machine, with a store of its own on a free port")
    value("max_restarts", 0, "how often the job may start again", kind=int)
    value("monitor_interval", 0.1, "seconds between looks for other agents", kind=float)
    value("start_method", "spawn", "spawn, fork or forkserver, for functions")
    value("role", "default", "what workers are called")
    flag("module", "the program is a module", "-m")
    flag("no_python", "the program is no Python program")
    flag("run_path", "run the program in the worker's first process, as runpy.run_path does")
    value(
        "event_log_handler", "null", "the handler of events: null, console, or one that a program registered"
    )
    value("logs_specs", None, "a class of LogsSpecs, by its name among the entry points torchrun.logs_specs")
    value(
        "signals_to_handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "the signals that end the agent and its workers"
    )
    value("shutdown_timeout", 30, "seconds that workers have to end before SIGKILL", kind=int)
    flag("virtual_local_rank", "every worker has LOCAL_RANK 0 and sees its own device alone")
    value("duplicate_stdout_filters", "", "not there yet: lines of output that go to a further file")
    value("duplicate_stderr_filters", "", "not there yet: lines of errors that go to a further file")
    value("numa_binding", None, "not there yet: the processors of a worker")
    value("log_dir", None, "the folder for files of output")
    value("redirects", "0", "streams that go to files: 1 output, 2 errors, 3 both; 0:1,1:3 by rank", "-r")
    value("tee", "0", "streams that go to files and the console", "-t")
    value("local_ranks_filter", "", "the local ranks that the console shows: 0,1")
    value("node_rank", None, "this machine's number, for static; that of SLURM or Kubernetes, or 0", kind=int)
    value("master_addr", None, "the address of machine 0, for static; that of SLURM, or 127.0.0.1")
    value("master_port", 29500, "its port, for static", kind=int)
    value("local_addr", None, "this machine's address")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """Reads a command line; that of the process if None.

    Example:
        >>> args = parse_args(["--nproc-per-node", "4", "train.py", "--epochs", "3"])
        >>> args.nproc_per_node, args.training_script, args.training_script_args
        ('4', 'train.py', ['--epochs', '3'])
    """
    return get_args_parser().parse_args(args)


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """Reads `N` or `MIN:MAX`.

    Raises:
        ValueError: for another text.

    Example:
        >>> parse_min_max_nnodes("1:4"), parse_min_max_nnodes("2")
        ((1, 4), (2, 2))
    """
    parts = nnodes.split(":")
    if len(parts) > 2 or not all(part.isdigit() for part in parts):
        raise ValueError(f"--nnodes must look like 2 or 1:4, got {nnodes!r}")
    return int(parts[0]), int(parts[-1])


def determine_local_world_size(nproc_per_node: str) -> int:
    """The number of workers of a machine: the number itself, or that of its processors or GPUs.

    Raises:
        ValueError: for another text, or `gpu` where there is none.
    """
    if nproc_per_node.isdigit() and int(nproc_per_node) > 0:
        return int(nproc_per_node)
    if nproc_per_node in ("cpu", "auto"):
        return len(os.sched_getaffinity(0))
    raise ValueError(f"--nproc-per-node must be a positive number, cpu or auto, got {nproc_per_node!r}")


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, str, list[str]]:
    """The job, the program and its arguments that a command line asks for.

    Example:
        >>> config, program, arguments = config_from_args(parse_args(["--nproc-per-node", "4", "train.py"]))
        >>> config.nproc_per_node, arguments[-1]
        (4, 'train.py')
    """
    low, high = _nodes(args.nnodes)
    if not 0 < low <= high or args.max_restarts < 0:
        raise ValueError(
            f"--nnodes {args.nnodes} --max-restarts {args.max_restarts}: needs 0 < MIN <= MAX and no less than 0"
        )
    options: dict[str, object] = dict(parse_config(args.rdzv_conf))
    backend, endpoint, run_id = args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id
    if args.standalone:
        backend, endpoint, run_id, low, high = "c10d", "localhost:0", uuid.uuid4().hex[:8], 1, 1
        options |= {"is_host": True}
    elif backend == "static":
        rank, address = _static(args, high)
        endpoint = endpoint or f"{address}:{args.master_port}"
        options["rank"] = rank
    _refuse_absent(args)
    shown = {int(rank) for rank in args.local_ranks_filter.split(",") if rank} or None
    logs = _logs_specs(args.logs_specs)(
        args.log_dir, Std.from_str(args.redirects), Std.from_str(args.tee), shown
    )
    config = LaunchConfig(
        low,
        high,
        determine_local_world_size(args.nproc_per_node),
        logs,
        run_id,
        args.role,
        endpoint,
        backend,
        options,
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
        start_method=args.start_method,
        local_addr=args.local_addr,
        event_log_handler=args.event_log_handler,
        signals_to_handle=args.signals_to_handle,
        shutdown_timeout=args.shutdown_timeout,
        virtual_local_rank=args.virtual_local_rank,
    )
    return config, *_command(args)


def _refuse_absent(args: argparse.Namespace) -> None:
    absent = ("duplicate_stdout_filters", "duplicate_stderr_filters", "numa_binding")
    for name in absent:
        if getattr(args, name):
            raise ValueError(f"--{name.replace('_', '-')} is not there yet")


def _logs_specs(name: str | None) -> type[LogsSpecs]:
    """The class of an entry point, which an installed package declares."""
    if name is None:
        return DefaultLogsSpecs
    entries = {each.name: each for each in entry_points(group="torchrun.logs_specs")}
    if name not in entries:
        raise ValueError(
            f"--logs-specs {name}: no package declares this entry point of torchrun.logs_specs; known: "
            f"{', '.join(sorted(entries)) or 'none'}"
        )
    kind = entries[name].load()
    if not (isinstance(kind, type) and issubclass(kind, LogsSpecs)):
        raise ValueError(f"--logs-specs {name}: {kind!r} is no class of LogsSpecs")
    return kind


def _nodes(text: str) -> tuple[int, int]:
    """The least and the greatest number of machines."""
    if text != "auto":
        return parse_min_max_nnodes(text)
    here = cluster.machine()
    if here is None or here.count is None:
        raise ValueError(
            "--nnodes auto needs a scheduler that says how many machines there are, as SLURM's srun does"
        )
    return here.count, here.count


def _static(args: argparse.Namespace, nodes: int) -> tuple[int, str]:
    """This machine's number and the address of machine 0: as given, else as a scheduler of several machines says."""
    here = cluster.machine() if nodes > 1 else None
    rank = args.node_rank if args.node_rank is not None else 0 if here is None else here.rank
    return rank, args.master_addr or (here and here.address) or "127.0.0.1"


def _command(args: argparse.Namespace) -> tuple[str, list[str]]:
    if args.run_path:
        if args.module:
            raise ValueError("--run-path and -m exclude each other")
        words = [args.training_script, *args.training_script_args]
        return sys.executable, ["-u", *_as_torch(), "-m", "tl_distributed.launcher.run_path", *words]
    if args.no_python:
        if args.module:
            raise ValueError("--no-python and -m exclude each other")
        return args.training_script, list(args.training_script_args)
    before = ["-u", *_as_torch()]
    if args.module:
        before.append("-m")
    return sys.executable, [*before, args.training_script, *args.training_script_args]


def _as_torch() -> list[str]:
    """Workers of a launcher that was called by the name torch say `import torch` too."""
    main = sys.modules.get("torch")
    return list(AS_TORCH) if main is not None and main is sys.modules.get("tl") else []


def run(args: argparse.Namespace) -> None:
    """Runs the job that a command line asks for.

    Example:
        >>> run(parse_args(["--nproc-per-node", "4", "train.py"]))  # doctest: +SKIP
    """
    config, program, arguments = config_from_args(args)
    elastic_launch(config, program)(*arguments)


@record
def main(args: Sequence[str] | None = None) -> None:
    """Reads a command line and runs the job.

    Raises:
        ChildFailedError: a worker failed, and the job may not start again.

    Example:
        >>> main(["--nproc-per-node", "4", "train.py"])  # doctest: +SKIP
    """
    run(parse_args(args))


def command(arguments: Sequence[str], program: str) -> int:
    """The command line under the name of a program.

    Args:
        arguments: the words after the name.
        program: the name, for messages.

    Returns:
        The exit status, as of `exit_status`.

    Example:
        >>> command(["--nproc-per-node", "2", "train.py"], "tl run")  # doctest: +SKIP
    """
    args = get_args_parser(program).parse_args(arguments)
    status = exit_status(record(partial(run, args)), program)
    if status == 1 and lacks_torch(args.training_script):  # the traceback of the worker is above
        print(f"{program}: {AS_TORCH_HINT}", file=sys.stderr)
    return status


def exit_status(main: Callable[[], object], program: str = PROGRAM) -> int:
    """Calls a launcher's main function. The text of an error goes to the console, without a stack.

    Args:
        main: the function.
        program: the name before messages.

    Returns:
        The exit status of this process: that of the worker that failed first, 128 and the number of a signal that ended
        this process, 2 for options that make no sense, 0 if all went well.
    """
    logging.basicConfig(format=f"{program}: %(message)s", level=get_log_level())
    try:
        main()
    except ChildFailedError as error:
        print(error, file=sys.stderr)
        _, failure = error.get_first_failure()
        return failure.exitcode if failure.exitcode > 0 else 1
    except SignalException as error:
        print(error, file=sys.stderr)
        return 128 + error.sigval
    except (DistError, RendezvousError, ModuleNotFoundError, OSError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
