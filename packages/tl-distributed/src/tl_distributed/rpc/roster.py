"""The workers of a job: their names, numbers and addresses, which each puts in the store."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..backends.bootstrap import domain
from ..backends.network import own_address
from ..base.errors import DistBackendError
from ..stores.store import Store
from .connection import Address
from .worker_info import WorkerInfo

_JOIN_WITHIN = 300.0


class Roster:
    """The workers of a job.

    A job with a size is complete when all have joined. In one without, a worker looks for a name that it doesn't know
    in the store.

    Args:
        store: where the workers meet.
        name: of this worker.
        rank: its number, or -1 for the next free one.
        world_size: the number of workers; None if workers may come and go.

    Raises:
        RuntimeError: another worker has the name or the number.
    """

    def __init__(self, store: Store, name: str, rank: int, world_size: int | None):
        self._store, self._size = store, world_size
        self.is_complete = world_size is not None
        own = json.dumps([os.getpid(), socket.gethostname(), secrets.token_hex(4)]).encode()
        if rank < 0:
            rank = store.add("rpc next", 1) - 1
        self.info = WorkerInfo(name, rank)
        self._records: dict[int, dict[str, Any]] = {}
        self._names: dict[str, WorkerInfo] = {}
        self._claim(f"rpc name/{name}", own, f"RPC worker name {name!r} is not unique: another worker has it")
        self._claim(f"rpc rank/{rank}", own, f"{name}: rank {rank} is not unique: another worker has it")
        self.token = self._job_token()

    def _claim(self, key: str, own: bytes, message: str) -> None:
        if self._store.compare_set(key, b"", own) != own:
            self._store.set("rpc refused", message.encode())
            raise RuntimeError(message)

    def _job_token(self) -> bytes:
        own = secrets.token_hex(32).encode()
        return bytes.fromhex(self._store.compare_set("rpc token", b"", own).decode())

    def addresses(self) -> list[Address]:
        """The addresses that this worker shall listen at."""
        try:
            host = own_address(self._store, False)
        except DistBackendError:
            host = "127.0.0.1"  # no way leads out of this machine
        return [f"tl-rpc-{secrets.token_hex(16)}", (host, 0)]

    def join(self, names: Sequence[Any]) -> None:
        """Puts this worker into the store, and waits for all others of a job with a size.

        Args:
            names: the names of the sockets that it listens at.

        Raises:
            RuntimeError: another worker can't take part, or not all came in time.
        """
        local, network = names[0].decode()[1:], list(names[1][:2])
        record = {
            "name": self.info.name,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "domain": domain(),
            "local": local,
            "network": network,
        }
        self._records[self.info.id] = record
        self._names[self.info.name] = self.info
        self._store.set(f"rpc worker/{self.info.id}", json.dumps(record))
        if self._size is not None:
            self._wait_for_all(self._size)

    def _wait_for_all(self, size: int) -> None:
        limit = min(_JOIN_WITHIN, self._store.timeout.total_seconds())
        deadline = time.monotonic() + limit
        keys = {rank: f"rpc worker/{rank}" for rank in range(size) if rank not in self._records}
        while keys:
            try:
                self._store.wait(list(keys.values()), timedelta(seconds=0.5))
            except RuntimeError as error:
                if self._store.check(["rpc refused"]):
                    raise RuntimeError(self._store.get("rpc refused").decode()) from error
                if time.monotonic() > deadline:
                    missing = [rank for rank, key in keys.items() if not self._store.check([key])]
                    raise RuntimeError(
                        f"{self.info.name} waited {limit:g} s for workers {missing} to join (timeout)"
                    ) from error
                continue
            for rank, value in zip(keys, self._store.multi_get(list(keys.values())), strict=True):
                self._add(rank, value)
            keys = {}

    def _add(self, rank: int, value: bytes) -> WorkerInfo:
        record = json.loads(value)
        info = WorkerInfo(record["name"], rank)
        self._records[rank], self._names[info.name] = record, info
        return info

    def find(self, name: str) -> WorkerInfo:
        """The worker of a name.

        Args:
            name: the name.

        Raises:
            RuntimeError: there is none.
        """
        worker = self._names.get(name)
        if worker is None and self._size is None:
            worker = next((each for each in self.all() if each.name == name), None)
        if worker is None:
            raise RuntimeError(
                f"could not find destination: no worker is called {name!r}; {self._list_workers()}"
            )
        return worker

    def first(self) -> WorkerInfo:
        """The worker that leads what all do together: the first by name."""
        return self._names[min(self._names)]

    def at(self, rank: int) -> WorkerInfo:
        """The worker of a number.

        Args:
            rank: the number.

        Raises:
            RuntimeError: there is none.
        """
        if rank not in self._records and self._size is None and rank >= 0:
            self.all()
        if rank not in self._records:
            raise RuntimeError(
                f"could not find destination: no worker has rank {rank}; {self._list_workers()}"
            )
        return WorkerInfo(self._records[rank]["name"], rank)

    def _list_workers(self) -> str:
        names = sorted(self._names)
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        return f"{len(names)} workers: {shown}"

    def all(self) -> list[WorkerInfo]:
        """All workers, in the order of their numbers."""
        if self._size is None:
            count = max(self._store.add("rpc next", 0), self._store.add("rpc highest", 0), self.info.id + 1)
            for rank in range(count):
                key = f"rpc worker/{rank}"
                if self._store.check([key]):
                    value = self._store.get(key)
                    if value:
                        self._add(rank, value)
                    elif rank in self._records:
                        self._names.pop(self._records.pop(rank)["name"], None)
        return [WorkerInfo(self._records[rank]["name"], rank) for rank in sorted(self._records)]

    def address(self, to: WorkerInfo) -> Address:
        """The address of a worker: of its local socket on the same machine.

        Args:
            to: the worker.

        Raises:
            ConnectionRefusedError: the worker has left, or was never there.
        """
        record = self._records.get(to.id)
        if record is None or record["name"] != to.name:
            raise ConnectionRefusedError(
                f"no worker is called {to.name!r} with rank {to.id}; {self._list_workers()}"
            )
        if record["domain"] == self._records[self.info.id]["domain"]:
            return str(record["local"])
        host, port = record["network"]
        return host, port

    def leave(self) -> None:
        """Takes this worker out of the store of a job without a size."""
        if self._size is None:
            self._store.set(f"rpc worker/{self.info.id}", b"")
            self._store.delete_key(f"rpc name/{self.info.name}")
            self._store.delete_key(f"rpc rank/{self.info.id}")
