"""transformers, a mixture of experts: Mixtral routes tokens and learns."""

import torch
from transformers import MixtralConfig, MixtralForCausalLM


def main():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    experts = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2}
    model = MixtralForCausalLM(MixtralConfig(vocab_size=64, **sizes, **experts, output_router_logits=True))
    tokens = torch.randint(0, 64, (2, 12))
    out = model(tokens, labels=tokens)
    out.loss.backward()
    return {"loss": out.loss, "auxiliary": out.aux_loss, "gradient": model.lm_head.weight.grad}
