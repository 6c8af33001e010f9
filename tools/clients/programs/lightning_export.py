"""lightning: a module leaves as TorchScript, traced and scripted, and as an ONNX model."""

import lightning as L
import numpy as np
import onnx
import torch
from onnx.reference import ReferenceEvaluator
from torch import nn


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
        )
        self.example_input_array = torch.randn(2, 1, 8, 8)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    L.seed_everything(0)
    model = Classifier()
    x = torch.randn(2, 1, 8, 8)
    results = {"eager": model.eval()(x)}
    for method in ("trace", "script"):
        program = model.to_torchscript(f"{method}.pt", method=method)
        assert isinstance(program, torch.jit.ScriptModule)
        results[method] = [program(x), torch.jit.load(f"{method}.pt")(x)]
    for name, options in (("static", {}), ("dynamic", {"dynamic_axes": {"x": [0]}, "input_names": ["x"]})):
        model.to_onnx(f"{name}.onnx", x, dynamo=True, **options)
        written = onnx.load(f"{name}.onnx")
        onnx.checker.check_model(written, full_check=True)
        batch = np.concatenate([x.numpy()] * (2 if options else 1))
        results[name] = ReferenceEvaluator(written).run(None, {"x": batch})[0]
    model.train()
    model.to_torchscript(method="script")
    return results | {"training": model.training}
