"""Optimizers and norms of distributed tensors, one by one and on lists: steps are those of whole tensors."""

from __future__ import annotations

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tl_nn import optim

OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
    "NAdam": {},
    "Adadelta": {},
    "Rprop": {},
    "RAdam": {},
    "Adamax": {},
    "ASGD": {},
}
DRAWN = tl.Generator().manual_seed(0)
START = tl.randn(5, 4, generator=DRAWN)
GRADIENTS = [tl.randn(5, 4, generator=DRAWN) for _ in range(3)]


def steps(name, options, distribute):
    """The parameter after three steps, and the norms of its gradients."""
    parameter = nn.Parameter(distribute(START))
    optimizer = getattr(optim, name)([parameter], lr=0.1, **OPTIMIZERS[name], **options)
    norms = []
    for gradient in GRADIENTS:
        parameter.grad = distribute(gradient)
        norms.append(nn.utils.clip_grad_norm_([parameter], 1.0, foreach=options.get("foreach")))
        optimizer.step()
    return [parameter, *norms]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_whole_tensors(ranks, name):
    variants = [
        {"foreach": False},
        {"foreach": True},
        *([{"fused": True}] if name in ("SGD", "AdamW") else []),
    ]
    expected = [steps(name, options, tl.clone) for options in variants]

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        for placement in (Shard(0), Shard(1), Replicate()):

            def distribute(tensor, placement=placement):
                return distribute_tensor(tensor.clone(), mesh, [placement])

            for options, references in zip(variants, expected, strict=True):
                values = steps(name, options, distribute)
                assert values[0].placements == (placement,)
                for value, reference in zip(values, references, strict=True):
                    full = value.full_tensor() if isinstance(value, DTensor) else value
                    assert_close(full, reference, rtol=1e-4, atol=1e-5)

    ranks(2, body)
