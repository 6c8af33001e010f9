"""onnx: imports beside tensors, builds a graph and checks its numbers with the reference evaluator."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def main():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 3)
    weights = [numpy_helper.from_array(p.detach().numpy(), name) for name, p in layer.named_parameters()]
    node = helper.make_node("Gemm", ["x", "weight", "bias"], ["y"], transB=1)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [2, 4]), ("y", [2, 3])))
    model = helper.make_model(helper.make_graph([node], "linear", [x], [y], weights))
    onnx.checker.check_model(model)
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    (out,) = ReferenceEvaluator(model).run(None, {"x": values})
    return {"graph": out, "layer": layer(torch.from_numpy(values))}
