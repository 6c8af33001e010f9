"""transformers, a state-space model: Mamba, its loss and what it generates."""

import torch
from transformers import MambaConfig, MambaForCausalLM


def main():
    torch.manual_seed(0)
    config = MambaConfig(vocab_size=64, hidden_size=32, state_size=8, num_hidden_layers=2, pad_token_id=0)
    model = MambaForCausalLM(config).eval()
    tokens = torch.randint(1, 64, (2, 12))
    out = model(tokens, labels=tokens)
    out.loss.backward()
    generated = model.generate(tokens, max_new_tokens=6, do_sample=False)
    return {"loss": out.loss, "logits": out.logits, "tokens": generated}
