"""transformers, a pipeline over a tokenizer that is trained here: text to classes, saved and loaded as safetensors."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedTokenizerFast,
    pipeline,
)

TEXT = ["a tensor has a shape", "a shape has dimensions", "kernels add tensors", "gradients flow backwards"]


def main():
    torch.manual_seed(0)
    raw = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.train_from_iterator(TEXT, trainers.WordLevelTrainer(special_tokens=["[UNK]", "[PAD]"]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]", pad_token="[PAD]")
    config = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, n_layers=1, n_heads=2, hidden_dim=64, num_labels=3
    )
    DistilBertForSequenceClassification(config).save_pretrained("model")
    model = DistilBertForSequenceClassification.from_pretrained("model")
    classify = pipeline("text-classification", model=model, tokenizer=tokenizer, top_k=None)
    return {
        "classes": [
            sorted((c["label"], c["score"]) for c in answer) for answer in classify(TEXT, batch_size=2)
        ]
    }
