"""Quantization: observers and integer layers, quantization-aware training, weights of four bits."""

import copy

import tl as torch
from tl import Tensor, nn
from tl.ao.quantization import (
    DeQuantStub,
    QConfig,
    QConfigMapping,
    QuantStub,
    convert,
    default_dynamic_qconfig,
    fuse_modules,
    get_default_qconfig,
    prepare,
    prepare_qat,
    quantize_dynamic,
)
from tl.ao.quantization.observer import HistogramObserver, MinMaxObserver, PerChannelMinMaxObserver


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant = QuantStub()
        self.conv = nn.Conv2d(1, 4, 3)
        self.relu = nn.ReLU()
        self.linear = nn.Linear(4, 2)
        self.dequant = DeQuantStub()

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.conv(self.quant(x)))
        scores: Tensor = self.dequant(self.linear(x.mean(dim=(2, 3))))
        return scores


def static(model: nn.Module, data: Tensor) -> nn.Module:
    model = copy.deepcopy(model).eval()
    model.qconfig = get_default_qconfig("x86")  # type: ignore[assignment, unused-ignore]
    fused = fuse_modules(model, [["conv", "relu"]])
    prepared = prepare(fused)
    prepared(data)
    return convert(prepared)


def main() -> None:
    torch.manual_seed(0)
    model, data = Net(), torch.rand(8, 1, 6, 6)
    quantized = static(model, data)
    print((quantized(data) - model(data)).abs().max().item() < 0.1)
    qconfig = QConfig(
        activation=HistogramObserver.with_args(reduce_range=False),
        weight=PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric),
    )
    mapping = QConfigMapping().set_global(qconfig).set_object_type(nn.Linear, default_dynamic_qconfig)
    print(type(mapping).__name__)
    dynamic = quantize_dynamic(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), {nn.Linear}, dtype=torch.qint8)
    print(dynamic(torch.ones(1, 4)).shape)
    trained = Net().train()
    trained.qconfig = qconfig  # type: ignore[assignment, unused-ignore]
    print(len(list(prepare_qat(trained).parameters())))
    observer = MinMaxObserver(dtype=torch.quint8)
    observer(data)
    scale, zero_point = observer.calculate_qparams()
    x: Tensor = torch.quantize_per_tensor(data, float(scale), int(zero_point), torch.quint8)
    print(x.q_scale() > 0, x.q_zero_point(), x.int_repr().dtype, x.dequantize().shape)


if __name__ == "__main__":
    main()
