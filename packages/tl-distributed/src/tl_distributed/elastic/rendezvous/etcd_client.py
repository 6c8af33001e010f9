"""Values in etcd that are replaced only if nobody has meanwhile; needs the extra `etcd`."""

from __future__ import annotations

from base64 import b64encode
from importlib import import_module
from typing import Any

from ...base.errors import DistNetworkError

__all__ = ["EtcdValues", "connect"]


def connect(host: str, port: int, protocol: str = "http", **options: Any) -> Any:
    """A client of an etcd server of version 3.

    Args:
        host: its host.
        port: its port.
        protocol: `http` or `https`.
        options: further ones of `etcd3gw.Etcd3Client`, such as `ca_cert` and `timeout`.

    Raises:
        ModuleNotFoundError: the extra `etcd` isn't installed.
    """
    return _library("etcd3gw").Etcd3Client(host, port, protocol, **options)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "rendezvous with etcd needs etcd3gw: python -m pip install 'tl-distributed[etcd]'", name="etcd3gw"
        ) from error


class EtcdValues:
    """The values of an etcd server.

    Args:
        client: an `etcd3gw.Etcd3Client`.
        ttl: after how many seconds without a change a value may go; None keeps it.
    """

    def __init__(self, client: Any, ttl: int | None = None):
        self._client = client
        self._ttl = ttl
        self._failure = _library("etcd3gw.exceptions").Etcd3Exception

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._client.post(self._client.get_url(path), json=body)
        except self._failure as error:
            raise self._lost(error) from error
        return answer

    def _lost(self, error: Exception) -> DistNetworkError:
        where = f"{self._client.host}:{self._client.port}"
        return DistNetworkError(f"etcd at {where}: {type(error).__name__}: {error}")

    def get(self, key: str) -> tuple[bytes, int] | None:
        """A value, and the revision that set it; None if there is none."""
        try:
            answer = self._client.get(key, metadata=True)
        except self._failure as error:
            raise self._lost(error) from error
        return (bytes(answer[0][0]), int(answer[0][1]["mod_revision"])) if answer else None

    def replace(self, key: str, value: bytes | None, revision: int) -> bool:
        """Sets a value, or removes it, if it has this revision; 0 stands for no value. Says whether it did."""
        name = _text(key)
        if value is None:
            change: dict[str, Any] = {"request_delete_range": {"key": name}}
        else:
            put: dict[str, Any] = {"key": name, "value": b64encode(value).decode()}
            if self._ttl is not None:
                put["lease"] = self._post("/lease/grant", TTL=self._ttl, ID=0)["ID"]
            change = {"request_put": put}
        compare = {"key": name, "target": "MOD", "result": "EQUAL", "mod_revision": revision}
        return bool(self._post("/kv/txn", compare=[compare], success=[change], failure=[]).get("succeeded"))

    def count(self, prefix: str) -> int:
        """The number of keys that begin with a prefix."""
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        return int(
            self._post("/kv/range", key=_text(prefix), range_end=_text(end), count_only=True).get("count", 0)
        )


def _text(key: str) -> str:
    return b64encode(key.encode()).decode()
