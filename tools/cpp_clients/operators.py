"""A child process: calls the operators of torchvision's and torchaudio's binaries, and writes what they return.

`python -m tl.torch operators.py FILE` runs it on tl. On PyTorch, `TL_PRELOAD` names libraries that the wheels need and
that PyTorch for the CPU lacks, separated by colons.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

for library in filter(None, os.environ.get("TL_PRELOAD", "").split(":")):
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)

import torchaudio  # noqa: E402
import torchvision  # noqa: E402

random = np.random.default_rng(0)
DTYPES = {"f": torch.float32, "l": torch.int64, "i": torch.int32, "B": torch.uint8}


def tensor(array: Any) -> torch.Tensor:
    """A tensor with the elements of an array."""
    return torch.tensor(array.tolist(), dtype=DTYPES[array.dtype.char])


def normal(*shape: int) -> torch.Tensor:
    """Normal numbers in float32."""
    return tensor(random.standard_normal(shape).astype("float32"))


def uniform(*shape: int) -> torch.Tensor:
    """Numbers of [0, 1) in float32."""
    return tensor(random.random(shape).astype("float32"))


def boxes(n: int, size: float) -> Any:
    """Corners of boxes: x1 < y1 < x2 < y2."""
    return np.cumsum(random.random((n, 4)) * size, 1).astype("float32")


def fact(value: Any) -> dict[str, Any]:
    """What is recorded of a tensor or number: its shape, a hash of its elements, and some of them."""
    array = np.array(value.tolist() if hasattr(value, "tolist") else value)
    flat = array.ravel().astype("float64")
    sample = flat[:: max(1, flat.size // 16)]
    return {
        "shape": list(array.shape),
        "hash": hashlib.sha256(array.tobytes()).hexdigest()[:16],
        "sum": float(flat.sum()),
        "size": float(np.abs(flat).sum()),
        "sample": [float(x) for x in sample],
    }


def of_torchvision(put: Callable[..., None]) -> None:
    """Operators on boxes and features, and pictures."""
    ops: Any = torch.ops.torchvision
    x = normal(2, 8, 16, 16)
    rois = boxes(5, 4)
    rois[:, 2:] += 3
    where = tensor(np.concatenate([random.integers(0, 2, (5, 1)).astype("float32"), rois], 1))
    put("nms", ops.nms(tensor(boxes(50, 5)), uniform(50), 0.3))
    put("roi_align", ops.roi_align(x, where, 0.5, 3, 3, 2, True))
    put("roi_pool", *ops.roi_pool(x, where, 0.5, 3, 3))
    put("ps_roi_align", *ops.ps_roi_align(x, where, 0.5, 2, 2, 2))
    put("ps_roi_pool", *ops.ps_roi_pool(x, where, 0.5, 2, 2))
    grad = normal(5, 8, 3, 3)
    put("roi_align_backward", ops._roi_align_backward(grad, where, 0.5, 3, 3, 2, 8, 16, 16, 2, True))
    parts = (x, normal(4, 8, 3, 3), normal(2, 18, 16, 16), uniform(2, 9, 16, 16), normal(4))
    plain = (1, 1, 1, 1, 1, 1, 1, 1, True)
    put("deform_conv2d", ops.deform_conv2d(*parts, *plain))
    put("deform_conv2d_backward", *ops._deform_conv2d_backward(normal(2, 4, 16, 16), *parts, *plain))
    put("box_iou_rotated", ops.box_iou_rotated(uniform(6, 5) * 5, uniform(7, 5) * 5))
    picture = tensor((random.random((3, 24, 32)) * 255).astype("uint8"))
    png, jpeg = torchvision.io.encode_png(picture), torchvision.io.encode_jpeg(picture)
    put("png", png, torchvision.io.decode_png(png))
    put("jpeg", jpeg, torchvision.io.decode_image(jpeg))


def of_torchaudio(put: Callable[..., None]) -> None:
    """Alignments, losses and filters."""
    ops: Any = torch.ops.torchaudio
    scores = torch.log_softmax(normal(1, 12, 5), -1)
    lengths = torch.tensor([12]), torch.tensor([3])
    put("forced_align", *ops.forced_align(scores, torch.tensor([[1, 2, 3]], dtype=torch.int32), *lengths, 0))
    sizes = torch.tensor([4, 4], dtype=torch.int32), torch.tensor([2, 2], dtype=torch.int32)
    targets = torch.tensor([[1, 2], [2, 1]], dtype=torch.int32)
    put("rnnt_loss", *ops.rnnt_loss_forward(normal(2, 4, 3, 5), targets, *sizes, 0, -1.0, True))
    wave, padded = normal(2, 1, 20), torch.zeros(2, 1, 22)
    ops._lfilter_core_loop(wave, torch.tensor([[0.2, 0.5, 1.0]]), padded)
    put("lfilter", padded)
    state = torch.zeros(2), torch.zeros(2), torch.zeros(2, 20)
    ops._overdrive_core_loop(wave[:, 0], wave[:, 0] * 0.5, *state)
    put("overdrive", *state)
    signal = torch.sin(torch.arange(1600) / 20)[None]
    put("mel_spectrogram", torchaudio.transforms.MelSpectrogram(n_fft=400, n_mels=20)(signal))
    a, b = (torch.tensor(c, requires_grad=True) for c in ([1.0, 0.4, 0.2], [0.2, 0.4, 0.2]))
    torchaudio.functional.lfilter(signal, a, b).pow(2).sum().backward()
    put("lfilter_gradients", a.grad, b.grad)


def of_a_detector(put: Callable[..., None]) -> None:
    """The losses of three steps of a small Faster R-CNN."""
    torch.manual_seed(0)
    make = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn
    model = make(weights=None, weights_backbone=None, num_classes=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    pictures = [uniform(3, 128, 160) for _ in range(2)]
    corners = torch.tensor([[10.0, 10, 80, 90], [30, 40, 120, 110]])
    targets = [{"boxes": corners, "labels": torch.tensor([1, 2])} for _ in range(2)]
    model.train()
    for step in range(3):
        loss = sum(model(pictures, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        put(f"detector_{step}", loss.detach())


def errors(put: Callable[..., None]) -> None:
    """The texts of what kernels throw."""
    nms: Any = torch.ops.torchvision.nms
    for arguments in (
        (torch.ones(3, 3), torch.ones(3)),
        (torch.zeros(3, 4, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)),
    ):
        try:
            nms(*arguments, 0.3)
        except RuntimeError as error:
            put("errors", str(error).splitlines()[0])


def microseconds() -> float:
    """The time of the fastest calls of `nms` with three boxes."""
    torch.set_num_threads(1)
    arguments = (
        torch.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1.1], [3, 3, 4, 4]]),
        torch.tensor([0.9, 0.8, 0.7]),
        0.5,
    )
    nms: Any = torch.ops.torchvision.nms
    best = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(1000):
            nms(*arguments)
        best = min(best, time.process_time() - start)
    return best * 1000


def main(target: str) -> None:
    """Writes the file.

    Args:
        target (str): Its path.
    """
    facts: dict[str, Any] = {}

    def put(name: str, *values: Any) -> None:
        for value in values:
            key = f"{name}.{sum(k.startswith(f'{name}.') for k in facts)}"
            facts[key] = value if isinstance(value, str) else fact(value)

    for run in (of_torchvision, of_torchaudio, of_a_detector, errors):
        run(put)
    with open(target, "w") as file:
        json.dump({"facts": facts, "nms_us": microseconds()}, file)


if __name__ == "__main__":
    main(sys.argv[1])
