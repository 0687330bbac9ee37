# SPDX-License-Identifier: MIT
"""Transformers' Trainer on a small GPT-2 with random weights and texts of different lengths."""
import argparse
import os
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __init__(self, count, longest, fixed):
        self.count, self.longest, self.fixed = count, longest, fixed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(index)
        length = self.longest if self.fixed else int(torch.randint(8, self.longest + 1, (1,), generator=draw))
        return torch.randint(1, 500, (length,), generator=draw)


def collate(texts):
    tokens = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    return {"input_ids": tokens, "attention_mask": (tokens != 0).long(),
            "labels": tokens.masked_fill(tokens == 0, -100)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--lengths", choices=("fixed", "random"), default="random")
    options = parser.parse_args()
    config = GPT2Config(vocab_size=500, n_positions=128, n_embd=128, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)
    fixed = options.lengths == "fixed"
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=8, per_device_eval_batch_size=8, max_steps=options.steps,
            gradient_accumulation_steps=2, bf16=True, eval_strategy="steps", eval_steps=4, save_strategy="no",
            report_to=[], disable_tqdm=True, dataloader_drop_last=False, logging_steps=4, seed=1)
        Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Texts(100, 96, fixed),
                eval_dataset=Texts(20, 96, fixed), data_collator=collate).train()
    print("trainer: done")


if __name__ == "__main__":
    main()
