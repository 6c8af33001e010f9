"""The agents' value in etcd; needs the extra `etcd`."""

from __future__ import annotations

from typing import Any

from ...base.errors import DistNetworkError
from ...stores.store import Store
from .api import RendezvousConnectionError, RendezvousParameters
from .dynamic_rendezvous import RendezvousBackend, Token
from .etcd_client import EtcdValues, connect
from .etcd_store import EtcdStore
from .utils import parse_endpoint

__all__ = ["EtcdRendezvousBackend", "create_backend"]

DEFAULT_PORT = 2379
TWO_HOURS = 7200


class EtcdRendezvousBackend(RendezvousBackend):
    """The value under one key of etcd; its version is etcd's revision.

    Args:
        client: an `etcd3gw.Etcd3Client`.
        run_id: the job's name.
        key_prefix: where the key stands.
        ttl: after how many seconds without a change the value may go; two hours by default.

    Example:
        >>> EtcdRendezvousBackend(client, "job 7").get_state()  # doctest: +SKIP
    """

    def __init__(self, client: Any, run_id: str, key_prefix: str | None = None, ttl: int | None = None):
        if not run_id:
            raise ValueError("EtcdRendezvousBackend: run_id must not be empty")
        self._values = EtcdValues(client, TWO_HOURS if ttl is None else ttl)
        self._key = f"{key_prefix or '/tl/elastic/rendezvous'}/{run_id}"

    @property
    def name(self) -> str:
        """`etcd`."""
        return "etcd"

    def get_state(self) -> tuple[bytes, Token] | None:
        try:
            return self._values.get(self._key)
        except DistNetworkError as error:
            raise RendezvousConnectionError(f"the agents' store can't be reached: {error}") from error

    def set_state(self, state: bytes, token: Token | None = None) -> tuple[bytes, Token, bool] | None:
        try:
            is_set = self._values.replace(self._key, state, 0 if token is None else token)
        except DistNetworkError as error:
            raise RendezvousConnectionError(f"the agents' store can't be reached: {error}") from error
        current = self.get_state()
        return None if current is None else (*current, is_set)


def create_backend(params: RendezvousParameters) -> tuple[EtcdRendezvousBackend, Store]:
    """The value, and a store in the same etcd, as parameters ask for it.

    Args:
        params: the job; `endpoint` is etcd's `host:port`, and `config` may have `protocol`, `read_timeout` in seconds,
            `ssl_cert`, `ssl_cert_key` and `ca_cert`.

    Raises:
        ModuleNotFoundError: the extra `etcd` isn't installed.
        RendezvousConnectionError: etcd can't be reached.

    Example:
        >>> backend, store = create_backend(parameters)  # doctest: +SKIP
    """
    host, port = parse_endpoint(params.endpoint, DEFAULT_PORT)
    options = {
        "timeout": params.get_as_int("read_timeout", 60),
        "cert_cert": params.get("ssl_cert"),
        "cert_key": params.get("ssl_cert_key"),
        "ca_cert": params.get("ca_cert"),
    }
    client = connect(host, port, str(params.get("protocol", "http")), **options)
    backend = EtcdRendezvousBackend(client, params.run_id)
    backend.get_state()  # so that what can't be reached is said at once
    return backend, EtcdStore(client, "/tl/elastic/store")
