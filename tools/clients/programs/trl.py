"""trl: supervised fine-tuning losses: its padding collators, log-probabilities and a value head."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from trl.trainer.utils import pad, selective_log_softmax


def main():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=40, n_positions=16, n_embd=16, n_layer=1, n_head=2)).eval()
    tokens = pad([torch.arange(5), torch.arange(3)], padding_value=0, padding_side="left")
    chosen = selective_log_softmax(model(tokens).logits[:, :-1], tokens[:, 1:])
    chosen.sum().backward()
    return {"tokens": tokens, "chosen": chosen, "gradient": model.transformer.wte.weight.grad}
