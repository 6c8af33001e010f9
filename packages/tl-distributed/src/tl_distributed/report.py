"""The operation of each rank when a job stopped, or now: `tl report JOBDIR`.

The launcher's folder has a flight recorder for each worker, with the last 2,000 operations of its groups. The report
shows where each rank stands, for which ranks the others wait, who called something else, and which rank is slow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from .backends.flight_recorder import Operation, Recording, read
from .backends.flight_recorders import FILE_NAME

__all__ = ["get_parser", "last_start", "lines", "main", "of_files", "of_folder"]

PROGRAM = "python -m tl_distributed.report"

_NS = 1e-9
_FEW = 8  # with fewer collectives nobody is called slow
_MOSTLY = 0.6  # of the collectives that a slow rank comes last to
_MUCH = 0.05  # of the time from collective to collective that the others spend on waiting for it
_SAME_ON_ALL = ("all_reduce", "reduce", "broadcast")  # calls that agree in all they say


def last_start(folder: Path) -> list[Path]:
    """The flight recorders of the last start of a job's workers, one a worker.

    Args:
        folder: the launcher's `--log-dir`, a job's folder in it, or that of one start.

    Raises:
        FileNotFoundError: there are none, or no such folder.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     try:
        ...         last_start(Path(folder))
        ...     except FileNotFoundError:
        ...         print("no records")
        ...
        no records
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    starts: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for file in folder.resolve().rglob(FILE_NAME):
        start = file.parent.parent  # JOB_random/attempt_N/LOCAL_RANK/flight_recorder; an agent, a random part
        starts[start.parent.name.rpartition("_")[0], start.name].append(file)
    if not starts:
        raise FileNotFoundError(
            f"no {FILE_NAME} below {folder}: no worker of this job had a group of several"
        )
    return max(starts.values(), key=lambda files: max(file.lstat().st_mtime for file in files))


def recordings(files: Iterable[Path]) -> tuple[list[Recording], bool]:
    """The last operations of the workers of a start, by rank, and whether any of them still runs."""
    by_rank: dict[int, Recording] = {}
    alive = False
    for file in sorted(files, key=lambda file: file.lstat().st_mtime):  # the newest counts
        try:
            if file.is_symlink() and _is_blank(file):  # a worker that has no group yet
                continue
            recording = read(file)
        except FileNotFoundError:  # the agent was killed, and its memory with it
            continue
        alive = alive or file.is_symlink()
        by_rank[recording.rank] = recording
    return [by_rank[rank] for rank in sorted(by_rank)], alive


def _is_blank(file: Path) -> bool:
    """Whether a worker has yet to write the head of its recorder."""
    with file.open("rb") as stream:
        return not any(stream.read(8))


def lines(ranks: Sequence[Recording], now: int) -> list[str]:
    """The report.

    Args:
        ranks: what each rank did last.
        now: when it stopped, in nanoseconds since 1970.

    Example:
        >>> call = Operation("0", 1, "barrier", "barrier #1", 0, 10**9, 0, "running")
        >>> lines([Recording(0, 71, [call])], 3 * 10**9)
        ['rank 0 (pid 71): in barrier #1 of group 0 for 2.0 s']
    """
    result = [_standing(rank, now) for rank in ranks]
    for group, calls in sorted(_by_group(ranks).items()):
        result += [*_missing(group, calls), *_disagreeing(group, calls), *_slow(group, calls)]
    return result


def _standing(rank: Recording, now: int) -> str:
    who = f"rank {rank.rank} (pid {rank.pid}): "
    if not rank.operations:
        return who + "nothing recorded"
    running = [each for each in rank.operations if each.stage in ("queued", "running")]
    if running:
        call = running[0]
        return who + f"in {call.text} of group {call.group} for {(now - call.began) * _NS:.1f} s"
    call = max(rank.operations, key=lambda each: each.ended)
    return (
        who + f"last {call.text} of group {call.group}, {call.stage} {(now - call.ended) * _NS:.1f} s before"
    )


_Calls = dict[int, dict[int, Operation]]  # by sequence number and rank


def _by_group(ranks: Sequence[Recording]) -> dict[str, _Calls]:
    groups: dict[str, _Calls] = defaultdict(lambda: defaultdict(dict))
    for rank in ranks:
        for call in rank.operations:
            if call.is_collective:
                groups[call.group][call.sequence][rank.rank] = call
    return groups


def _members(calls: _Calls) -> set[int]:
    return {rank for each in calls.values() for rank in each}


def _missing(group: str, calls: _Calls) -> list[str]:
    """The ranks that miss in the newest collective, if other ranks still wait there or have failed in it."""
    newest = max(calls)
    there = calls[newest]
    absent = _members(calls) - set(there)
    if not absent or all(call.stage == "done" for call in there.values()):
        return []
    call = next(iter(there.values()))
    text = f"group {group}: {_names(there)} came to {call.text}, {_names(absent)} did not"
    return [text + "; " + ", ".join(_last_call(rank, calls) for rank in sorted(absent))]


def _last_call(rank: int, calls: _Calls) -> str:
    number = max(number for number, each in calls.items() if rank in each)
    call = calls[number][rank]
    return f"rank {rank}'s last was {call.text} ({call.stage})"


def _disagreeing(group: str, calls: _Calls) -> list[str]:
    """The first collective that ranks called differently."""
    for _, each in sorted(calls.items()):
        names = {call.name for call in each.values()}
        texts = {call.text for call in each.values() if call.name in _SAME_ON_ALL}
        if len(names) > 1 or len(texts) > 1:
            called = ", ".join(f"rank {rank} called {each[rank].text}" for rank in sorted(each))
            return [f"group {group}: the ranks disagree: {called}"]
    return []


def _slow(group: str, calls: _Calls) -> list[str]:
    """The rank for which the others mostly wait, if there is one."""
    members = _members(calls)
    complete = [each for _, each in sorted(calls.items()) if set(each) == members]
    if len(members) < 2 or len(complete) < _FEW:
        return []
    late: dict[int, list[float]] = defaultdict(list)
    for each in complete:
        began = sorted((call.began, rank) for rank, call in each.items())
        late[began[-1][1]].append((began[-1][0] - began[-2][0]) * _NS)
    rank, waits = max(late.items(), key=lambda pair: sum(pair[1]))
    first, last = (min(call.began for call in each.values()) for each in (complete[0], complete[-1]))
    period = (last - first) * _NS / (len(complete) - 1)
    mean = sum(waits) / len(waits)
    if len(waits) < _MOSTLY * len(complete) or sum(waits) < _MUCH * period * len(complete):
        return []
    text = (
        f"group {group}: rank {rank} is slow: it came last to {len(waits)} of {len(complete)} collectives, and all "
        f"others waited {mean * 1e3:.3g} ms for it each time, of {period * 1e3:.3g} ms from one to the next"
    )
    return [text]


def _names(ranks: Iterable[int]) -> str:
    numbers = sorted(ranks)
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(map(str, numbers))


def of_files(files: Iterable[Path]) -> list[str]:
    """The report of some workers.

    Args:
        files: their flight recorders.

    Example:
        >>> of_files([])
        []
    """
    ranks, alive = recordings(files)
    moments = [max(call.began, call.ended) for rank in ranks for call in rank.operations]
    return lines(ranks, time.time_ns() if alive or not moments else max(moments))


def of_folder(folder: Path) -> list[str]:
    """The report of the last start of a job.

    Args:
        folder: as for `last_start`.

    Example:
        >>> print("\\n".join(of_folder(folder)))  # doctest: +SKIP
    """
    return of_files(last_start(folder))


def get_parser(program: str = PROGRAM) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        program: the name of the program, for messages.

    Example:
        >>> get_parser("tl report").parse_args(["logs"]).folder.name
        'logs'
    """
    parser = argparse.ArgumentParser(program, description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="the launcher's --log-dir, or a job's folder in it")
    return parser


def main(args: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Reads a command line and prints the report.

    Args:
        args: the words of the command line, by default those of the process.
        program: the name of the program, for messages.

    Returns:
        The exit status: 2 if there is nothing to report on.

    Example:
        >>> main(["logs"])  # doctest: +SKIP
    """
    options = get_parser(program).parse_args(args)
    try:
        print("\n".join(of_folder(options.folder)))
    except (OSError, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
