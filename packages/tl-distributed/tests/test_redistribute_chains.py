"""Chains of redistributions: all ranks choose the same, whatever the hash seed of their process."""

from __future__ import annotations

import os
import subprocess
import sys

_CHAINS = """
import itertools
from types import SimpleNamespace
import tl_core as tl
from tl_distributed.tensor import Partial, Replicate, Shard
from tl_distributed.tensor.dtensor_spec import DTensorSpec, TensorMeta
from tl_distributed.tensor.redistribute import _search

mesh = SimpleNamespace(ndim=2, shape=(2, 2), size=lambda dim=None: 4 if dim is None else 2)
placements = [Replicate(), Shard(0), Shard(1), Partial("sum"), Partial("max")]
meta = TensorMeta(tl.Size([8, 8]), (8, 1), tl.float32)
for layout, target in itertools.product(itertools.product(placements, repeat=2), repeat=2):
    steps = _search(DTensorSpec(mesh, layout, meta), target)
    print(layout, target, [(step.mesh_dim, step.new) for step in steps])
"""


def _chains(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", _CHAINS]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_chains_are_equal_for_all_hash_seeds():
    chains = _chains("1")
    assert len(chains.splitlines()) == 25 * 25
    assert _chains("2") == chains and _chains("3") == chains
