"""array-api-compat: finds the namespace of tensors and computes by the standard."""

import array_api_compat
import torch


def main():
    torch.manual_seed(0)
    x = torch.randn(4, 3, dtype=torch.float64)
    xp = array_api_compat.array_namespace(x)
    values, counts = xp.unique_counts(xp.asarray([3, 1, 3, 2]))
    return {
        "is": [array_api_compat.is_torch_array(x), array_api_compat.size(x), str(array_api_compat.device(x))],
        "sum": xp.sum(x, axis=0),
        "std": xp.std(x, axis=1, correction=1.0),
        "matmul": xp.matmul(xp.permute_dims(x, (1, 0)), x),
        "unique": [values, counts],
        "qr": xp.abs(xp.linalg.qr(x).R),
        "concat": xp.concat([x, x], axis=1),
        "type": str(xp.result_type(x, xp.asarray(1.0, dtype=xp.float32))),
    }
