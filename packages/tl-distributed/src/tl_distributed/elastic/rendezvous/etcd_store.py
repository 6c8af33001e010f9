"""A store in etcd; needs the extra `etcd`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ...base.constants import default_store_timeout
from ...stores.store import Change, EditedStore
from .etcd_client import EtcdValues

__all__ = ["EtcdStore"]


class EtcdStore(EditedStore):
    """A store whose values etcd keeps.

    Args:
        etcd_client: an `etcd3gw.Etcd3Client`.
        etcd_store_prefix: what to put before the keys.
        timeout: how long `get` and `wait` wait for a key.

    Example:
        >>> EtcdStore(client, "/job 7/").set("epoch", "3")  # doctest: +SKIP
    """

    def __init__(self, etcd_client: Any, etcd_store_prefix: str, timeout: timedelta | None = None):
        super().__init__()
        self._timeout = default_store_timeout if timeout is None else timeout
        self._values = EtcdValues(etcd_client)
        self.prefix = etcd_store_prefix if etcd_store_prefix.endswith("/") else etcd_store_prefix + "/"

    def edit(self, key: str, change: Change) -> bytes | None:
        while True:
            old, revision = self._values.get(self.prefix + key) or (None, 0)
            new = change(old)
            if new == old or self._values.replace(self.prefix + key, new, revision):
                return new

    def peek(self, key: str) -> bytes | None:
        entry = self._values.get(self.prefix + key)
        return None if entry is None else entry[0]

    def num_keys(self) -> int:
        return self._values.count(self.prefix)
