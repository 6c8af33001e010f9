"""tensorboard: what SummaryWriter writes is read back by TensorBoard's own reader."""

import numpy as np
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter


def main():
    torch.manual_seed(0)
    with SummaryWriter("runs") as writer:
        for step in range(5):
            writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_histogram("weights", torch.randn(100), 0)
        writer.add_image("picture", np.zeros((3, 4, 5), dtype=np.float32), 0)
        writer.add_text("note", "a tensor")
        writer.add_hparams({"lr": 0.1}, {"hparam/loss": 0.5}, run_name="h")
    events = EventAccumulator("runs", size_guidance={"histograms": 0}).Reload()
    histogram = events.Histograms("weights")[0].histogram_value
    return {
        "scalars": [(e.step, round(e.value, 5)) for e in events.Scalars("loss")],
        "histogram": [histogram.num, round(histogram.sum, 3)],
        "tags": {kind: sorted(tags) for kind, tags in events.Tags().items() if isinstance(tags, list)},
    }
