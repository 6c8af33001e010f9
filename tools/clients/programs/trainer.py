"""transformers, Trainer: trains, evaluates, writes checkpoints and goes on from one."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Words(torch.utils.data.Dataset):
    def __init__(self):
        self.tokens = torch.randint(0, 50, (32, 8), generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index, 0] % 2}


def main():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForSequenceClassification(
        BertConfig(vocab_size=50, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **sizes)
    )
    options = {"report_to": [], "logging_steps": 4, "save_steps": 8, "disable_tqdm": True, "use_cpu": True}
    arguments = TrainingArguments(
        "out", num_train_epochs=3, per_device_train_batch_size=8, learning_rate=1e-3, **options
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=Words(), eval_dataset=Words())
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return {
        "losses": losses,
        "evaluation": trainer.evaluate()["eval_loss"],
        "logits": trainer.predict(Words()).predictions,
    }
