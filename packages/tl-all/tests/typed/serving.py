"""Serving: an exported program with dynamic sizes, safe files, pinned results, a benchmark, a profile."""

import tempfile
from pathlib import Path

import tl as torch
from tl import Tensor, nn
from tl.export import Dim, ExportedProgram
from tl.profiler import ProfilerActivity, profile, record_function, schedule
from tl.utils import benchmark


class Classifier(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, classes))

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        scores = self.layers(images)
        return {"scores": scores, "classes": scores.argmax(dim=-1)}


@torch.inference_mode()
def answer(program: ExportedProgram, images: Tensor) -> list[int]:
    result: dict[str, Tensor] = program.module()(images)
    values, indices = result["scores"].softmax(-1).topk(2)
    assert values.shape == indices.shape
    return [int(n) for n in result["classes"].tolist()]


def main() -> None:
    torch.manual_seed(0)
    model = Classifier(10).eval()
    images = torch.rand(2, 1, 4, 4)
    program = torch.export.export(model, (images,), dynamic_shapes=({0: Dim("batch", max=64)},))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.pt")
        torch.save(model.state_dict(), path)
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True, mmap=True), strict=True)
        torch.export.save(program, Path(folder, "program.pt2"))
        program = torch.export.load(Path(folder, "program.pt2"))
    activities = [ProfilerActivity.CPU]
    with profile(
        activities=activities, schedule=schedule(wait=0, warmup=1, active=1), record_shapes=True
    ) as p:
        for _ in range(2):
            with record_function("request"):
                print(len(answer(program, torch.rand(5, 1, 4, 4))))
            p.step()
    print(p.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=3)[:4])
    timer = benchmark.Timer("model(images)", globals={"model": model, "images": images}, num_threads=1)
    measurement = timer.timeit(5)
    print(measurement.median > 0, torch.get_num_threads() > 0)


if __name__ == "__main__":
    main()
