"""transformers, an encoder: BERT fills masks and learns."""

import torch
from transformers import BertConfig, BertForMaskedLM


def main():
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    model = BertForMaskedLM(BertConfig(vocab_size=200, **sizes))
    tokens = torch.randint(0, 200, (4, 16))
    attention = torch.ones_like(tokens)
    attention[1, 10:] = 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    model.eval()
    for _ in range(5):
        loss = model(input_ids=tokens, attention_mask=attention, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "logits": model(input_ids=tokens, attention_mask=attention).logits}
