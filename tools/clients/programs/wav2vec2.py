"""transformers, speech: Wav2Vec2 with CTC, from raw samples."""

import torch
from transformers import Wav2Vec2Config, Wav2Vec2ForCTC


def main():
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        vocab_size=20,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        conv_dim=(16, 16),
        conv_stride=(5, 2),
        conv_kernel=(10, 3),
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=2,
        mask_time_prob=0.0,
    )
    model = Wav2Vec2ForCTC(config).eval()
    sound = torch.sin(torch.arange(4000) * 0.03).reshape(2, 2000)
    out = model(sound, labels=torch.tensor([[3, 4, 5], [6, 7, 8]]))
    out.loss.backward()
    return {"loss": out.loss, "logits": out.logits, "gradient": model.lm_head.weight.grad}
