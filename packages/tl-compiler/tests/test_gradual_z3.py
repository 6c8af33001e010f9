"""Types with unknown sizes, decided by z3."""

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx
from tl_compiler.compat.experimental.migrate_gradual_types.constraint import (
    BinConstraintD,
    BVar,
    Conj,
    DVar,
    Prod,
    TVar,
    is_algebraic_expression,
    is_bool_expr,
    is_dim,
)
from tl_compiler.compat.experimental.migrate_gradual_types.constraint_generator import ConstraintGenerator
from tl_compiler.compat.experimental.migrate_gradual_types.constraint_transformation import (
    transform_constraint,
)
from tl_compiler.compat.experimental.migrate_gradual_types.operation import op_add, op_lt
from tl_compiler.compat.experimental.migrate_gradual_types.util import (
    gen_bvar,
    gen_dvar,
    gen_tensor_dims,
    gen_tvar,
)
from tl_compiler.fx.tensor_type import Dyn, TensorType


def traced(root, *types):
    result = fx.symbolic_trace(root)
    for node, kind in zip(result.graph.find_nodes(op="placeholder"), types, strict=True):
        node.type = kind
    return result


NET = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(6))


def test_variables_and_constraints():
    assert gen_tvar(3) == (TVar(4), 4)
    assert gen_dvar(0) == (DVar(1), 1)
    assert gen_bvar(0) == (BVar(1), 1)
    dims, last = gen_tensor_dims(2, 5)
    assert (dims, last) == ([DVar(6), DVar(7)], 7)
    total = BinConstraintD(DVar(1), 2, op_add)
    assert is_algebraic_expression(total)
    assert is_algebraic_expression(Prod([DVar(1), 2]))
    assert is_bool_expr(BinConstraintD(DVar(1), 2, op_lt))
    assert [is_dim(x) for x in (1, Dyn, DVar(2), "a")] == [True, True, True, False]
    assert Conj([total]) == Conj([BinConstraintD(DVar(1), 2, op_add)])
    assert str(total) == "(DV(1) + 2)"
    result, last = ConstraintGenerator(traced(NET, Dyn)).generate_constraints()
    again, _ = transform_constraint(result, last)
    assert again != result
    with pytest.raises(RuntimeError, match="No inference rule"):
        ConstraintGenerator(fx.symbolic_trace(lambda x: tl.sin(x))).generate_constraints()


CASES = [
    (NET, (Dyn,), True),
    (NET, (TensorType((Dyn, 3, 8, Dyn)),), True),
    (NET, (TensorType((1, 4, 8, 8)),), False),
    (NET, (TensorType((1, 3, 8)),), False),
    (nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2)), (TensorType((Dyn, 4)),), True),
    (nn.Sequential(nn.Linear(4, 5), nn.Linear(4, 2)), (TensorType((Dyn, 4)),), False),
    (lambda x, y: x + y, (TensorType((2, 1)), TensorType((3,))), True),
    (lambda x, y: x + y, (TensorType((2, 4)), TensorType((3,))), False),
    (lambda x, y: tl.add(x, y), (TensorType((2, Dyn)), TensorType((3,))), True),
    (lambda x: tl.reshape(x, [2, 3]), (TensorType((6,)),), True),
    (lambda x: tl.reshape(x, [2, 3]), (TensorType((7,)),), False),
    (lambda x: x.view(2, -1), (TensorType((3, 4)),), True),
    (lambda x: x.view(5, -1), (TensorType((3, 4)),), False),
    (lambda x: tl.transpose(tl.flatten(x, 1), 0, 1) + 1, (TensorType((2, 3, 4)),), True),
    (nn.Sequential(nn.Embedding(5, 4), nn.LayerNorm(4)), (TensorType((2, 3)),), True),
    (nn.Sequential(nn.AdaptiveAvgPool2d((2, 3)), nn.ReLU()), (TensorType((1, 2, 8, 8)),), True),
]


@pytest.mark.parametrize(("root", "types", "fits"), CASES)
def test_graphs_whose_types_can_and_cannot_be_right(root, types, fits):
    z3 = pytest.importorskip("z3")
    from tl_compiler.compat.experimental.migrate_gradual_types.transform_to_z3 import (
        transform_all_constraints,
    )

    solver = z3.Solver()
    solver.add(transform_all_constraints(traced(root, *types)))
    assert solver.check() == (z3.sat if fits else z3.unsat)


def test_types_of_values_are_constants_by_their_numbers():
    z3 = pytest.importorskip("z3")
    from tl_compiler.compat.experimental.migrate_gradual_types.transform_to_z3 import (
        transform_all_constraints,
    )
    from tl_compiler.compat.experimental.migrate_gradual_types.z3_types import D, tensor_type

    solver = z3.Solver()
    solver.add(transform_all_constraints(traced(nn.Sequential(nn.Linear(4, 7)), TensorType((3, Dyn)))))
    argument, result = z3.Const(1, tensor_type), z3.Const(2, tensor_type)
    assert solver.check() == z3.sat
    solver.add(argument == tensor_type.tensor2(D(1, 3), D(1, 4)))
    assert solver.check() == z3.sat
    solver.add(result != tensor_type.tensor2(D(1, 3), D(1, 7)))
    assert solver.check() == z3.unsat
