"""peft: LoRA on a decoder; trains the adapter, saves it, loads it, merges it."""

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel


def base():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=32, n_embd=32, n_layer=2, n_head=2)).eval()


def main():
    model = get_peft_model(
        base(), LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0)
    )
    tokens = torch.randint(0, 60, (4, 12))
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    losses = []
    for _ in range(6):
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    model.save_pretrained("adapter")
    merged = PeftModel.from_pretrained(base(), "adapter").merge_and_unload()
    return {
        "losses": losses,
        "trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "logits": merged(tokens).logits,
    }
