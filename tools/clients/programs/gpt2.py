"""transformers, a decoder: GPT-2 generates greedily, by beams and by samples."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def main():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=64, n_embd=64, n_layer=2, n_head=4)).eval()
    prompt = torch.tensor([[1, 5, 9, 20], [3, 3, 7, 8]])
    common = {"max_new_tokens": 12, "pad_token_id": 0, "attention_mask": torch.ones_like(prompt)}
    torch.manual_seed(1)
    return {
        "logits": model(prompt).logits,
        "greedy": model.generate(prompt, do_sample=False, **common),
        "beams": model.generate(prompt, num_beams=3, do_sample=False, **common),
        "samples": model.generate(prompt, do_sample=True, top_k=20, top_p=0.9, **common),
    }
