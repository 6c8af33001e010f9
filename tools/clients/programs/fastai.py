"""fastai: a learner over loaders of its own, one cycle, metrics and predictions."""

import torch
from fastai.callback.schedule import fit_one_cycle  # noqa: F401 - adds the method
from fastai.data.core import DataLoaders
from fastai.learner import Learner
from fastai.metrics import accuracy
from fastai.torch_core import set_seed
from torch import nn
from torch.utils.data import TensorDataset


def main():
    set_seed(0)
    x = torch.randn(64, 6)
    data = TensorDataset(x, (x.sum(1) > 0).long())
    loaders = DataLoaders.from_dsets(data, data, bs=16, shuffle=False, num_workers=0, device="cpu")
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
    learner = Learner(loaders, net, loss_func=nn.CrossEntropyLoss(), metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(3, 0.05)
        predictions, _ = learner.get_preds(dl=loaders.valid)
    return {"losses": [float(v) for v in learner.recorder.losses], "predictions": predictions}
