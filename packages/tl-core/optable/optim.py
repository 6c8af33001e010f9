"""Fused optimizer steps: one step over all parameters at once."""

from opgen.row import Op

NONE = "none:an optimizer's step is not differentiated"
NO_EXAMPLES = "refuse:() steps an optimizer, which has no examples"

_ADAM = (
    "(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, "
    "Tensor(d!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, "
    "float weight_decay, float eps, bool amsgrad, bool maximize) -> ()"
)


def _step(signature: str, doc: str):
    return Op(signature, devices="CpuOnly", method=False, grad=NONE, jvp=NONE, batch=NO_EXAMPLES, doc=doc)


ROWS = [
    _step(
        (
            "_fused_sgd_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] momentum_buffer_list, *, float "
            "weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool "
            "is_first_step) -> ()"
        ),
        "A step of stochastic gradient descent; an empty list of buffers means no momentum.",
    ),
    _step(f"_fused_adam_{_ADAM}", "A step of Adam (Kingma & Ba, 2015); the steps count this one."),
    _step(f"_fused_adamw_{_ADAM}", "A step of Adam with decoupled weight decay (Loshchilov & Hutter, 2019)."),
    _step(
        (
            "_fused_adagrad_(Tensor(a!)[] self, Tensor[] grads, Tensor(b!)[] state_sums, Tensor[] "
            "state_steps, *, float lr, float lr_decay, float weight_decay, float eps, bool maximize) -> ()"
        ),
        "A step of Adagrad (Duchi et al., 2011); the steps count this one.",
    ),
]  # fmt: skip
