"""The destinations of the output of workers."""

from __future__ import annotations

import enum
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path


class Std(enum.IntFlag):
    """Standard streams.

    Example:
        >>> Std.from_str("0:1,1:3")[1] == Std.ALL
        True
    """

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = 3

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Reads `3`, for all local ranks, or `0:1,1:2`, by local rank.

        Raises:
            ValueError: for another text.
        """
        try:
            if ":" not in vm:
                return cls(int(vm))
            pairs = (part.split(":") for part in vm.split(","))
            return {int(rank): cls(int(value)) for rank, value in pairs}
        except ValueError as error:
            raise ValueError(f"streams must look like '3' or '0:1,1:2', got {vm!r}") from error


def _of(which: Std | dict[int, Std], rank: int) -> Std:
    return which.get(rank, Std.NONE) if isinstance(which, dict) else which


@dataclass
class LogsDest:
    """The files of each local rank; an empty name for a stream that isn't redirected.

    Args:
        stdouts: the files of stdout, by local rank.
        stderrs: those of stderr.
        tee_stdouts: those of stdout that are shown too.
        tee_stderrs: those of stderr that are.
        error_files: where each writes its error.
        filtered_stdout: the file of lines of stdout that pass a filter.
        filtered_stderr: the file of those of stderr.

    Example:
        >>> LogsDest(stdouts={0: "0.log"}).stdouts[0]
        '0.log'
    """

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)
    filtered_stdout: str = ""
    filtered_stderr: str = ""


class LogsSpecs(ABC):
    """The settings for the output of workers.

    Args:
        log_dir: the folder of the files.
        redirects: the streams that go to files.
        tee: the streams that go to files and to the console.
        local_ranks_filter: the local ranks that the console shows; None for all.

    Example:
        >>> from tl_distributed.elastic.multiprocessing import DefaultLogsSpecs
        >>> issubclass(DefaultLogsSpecs, LogsSpecs)
        True
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        self._root_log_dir = log_dir
        self._redirects = redirects
        self._tee = tee
        self._local_ranks_filter = local_ranks_filter

    @abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files of one start of the workers, whose variables are given by local rank."""

    @property
    @abstractmethod
    def root_log_dir(self) -> str:
        """The folder of the files."""


class DefaultLogsSpecs(LogsSpecs):
    """Files `DIR/JOB/attempt_N/RANK/{stdout,stderr}.log` and `error.json`.

    Args:
        log_dir: the directory; None for a temporary one.
        redirects: which streams go to files, for all ranks or by rank.
        tee: which streams go to files and the console.
        local_ranks_filter: the ranks whose output is shown; None for all.

    Example:
        >>> specs = DefaultLogsSpecs(redirects=Std.OUT)
        >>> Path(specs.reify({0: {}}).stdouts[0]).name
        'stdout.log'
    """

    def __init__(
        self,
        log_dir: str | None = None,
        redirects: Std | dict[int, Std] = Std.NONE,
        tee: Std | dict[int, Std] = Std.NONE,
        local_ranks_filter: set[int] | None = None,
    ) -> None:
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._job_dir: str | None = None

    @property
    def root_log_dir(self) -> str:
        """The folder of the files, a temporary one by default."""
        if self._root_log_dir is None:
            self._root_log_dir = tempfile.mkdtemp(prefix="tl_job_")
        return self._root_log_dir

    def _folder(self, env: dict[str, str]) -> Path:
        if self._job_dir is None:
            root = Path(self.root_log_dir)
            root.mkdir(parents=True, exist_ok=True)
            self._job_dir = tempfile.mkdtemp(prefix=env.get("TORCHELASTIC_RUN_ID", "job") + "_", dir=root)
        return Path(self._job_dir) / f"attempt_{env.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        logs = LogsDest()
        for rank, env in envs.items():
            folder = self._folder(env) / str(rank)
            folder.mkdir(parents=True, exist_ok=True)
            tee = _of(self._tee, rank)
            files = _of(self._redirects, rank) | tee
            shown = self._local_ranks_filter is None or rank in self._local_ranks_filter
            if not shown:  # what the console must not show goes to the files
                files, tee = Std.ALL, Std.NONE
            out, err = str(folder / "stdout.log"), str(folder / "stderr.log")
            logs.stdouts[rank] = out if Std.OUT in files else ""
            logs.stderrs[rank] = err if Std.ERR in files else ""
            if Std.OUT in tee:
                logs.tee_stdouts[rank] = out
            if Std.ERR in tee:
                logs.tee_stderrs[rank] = err
            logs.error_files[rank] = str(folder / "error.json")
        return logs

    def __repr__(self) -> str:
        return f"DefaultLogsSpecs(root_log_dir={self._root_log_dir!r}, redirects={self._redirects}, tee={self._tee})"
