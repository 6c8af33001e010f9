"""transformers, an encoder and a decoder: T5 translates."""

import torch
from transformers import T5Config, T5ForConditionalGeneration


def main():
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    model = T5ForConditionalGeneration(config).eval()
    source, target = torch.randint(1, 100, (2, 9)), torch.randint(1, 100, (2, 6))
    loss = model(input_ids=source, labels=target).loss
    loss.backward()
    tokens = model.generate(source, max_new_tokens=8, num_beams=2, do_sample=False)
    return {"loss": loss, "gradient": model.shared.weight.grad, "tokens": tokens}
