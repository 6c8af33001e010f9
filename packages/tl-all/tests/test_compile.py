"""`compile` across the packages: the wrapper of modules is where programs look for it."""

import tl


def test_compiled_modules_are_wrapped():
    model = tl.nn.Linear(2, 1)
    made = tl.compile(model, backend="eager")
    assert isinstance(made, tl._dynamo.eval_frame.OptimizedModule) and made._orig_mod is model
    assert list(made.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert isinstance(tl.compile(backend="eager")(model), tl._dynamo.OptimizedModule)
    assert tl.compile(model, disable=True) is model
