"""Addresses and options of a rendezvous."""

from __future__ import annotations

import socket

__all__ = ["is_local", "parse_config", "parse_endpoint"]


def is_local(host: str) -> bool:
    """True if a name is this machine's.

    Example:
        >>> is_local("localhost")
        True
    """
    if host in ("localhost", "127.0.0.1", "::1", socket.gethostname()):
        return True
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.bind((host, 0))  # only addresses of this machine can be bound
            return True
    except OSError:
        return False


def parse_endpoint(endpoint: str, default_port: int) -> tuple[str, int]:
    """Reads `host:port`, `[v6]:port` or `host`.

    Raises:
        ValueError: for another text.

    Example:
        >>> parse_endpoint("node1:29500", 29400), parse_endpoint("[::1]:1", 29400), parse_endpoint("", 29400)
        (('node1', 29500), ('::1', 1), ('localhost', 29400))
    """
    if not endpoint:
        return "localhost", default_port
    host, colon, port = endpoint.rpartition(":")
    if not colon or endpoint.endswith("]"):
        return endpoint.strip("[]"), default_port
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise ValueError(f"rendezvous endpoint must look like host:port, got {endpoint!r}")
    return host.strip("[]"), int(port)


def parse_config(text: str) -> dict[str, str]:
    """Reads `key=value,key=value`.

    Raises:
        ValueError: for another text.

    Example:
        >>> parse_config("timeout=30, is_host=1")
        {'timeout': '30', 'is_host': '1'}
    """
    pairs = [part.split("=", 1) for part in text.split(",") if part]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"--rdzv-conf must look like key=value,key=value, got {text!r}")
    return {key.strip(): value.strip() for key, value in pairs}
