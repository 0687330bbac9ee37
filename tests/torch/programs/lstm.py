# SPDX-License-Identifier: MIT
"""A language model of two LSTM layers, by cuDNN or by PyTorch's own kernels."""
import argparse
import random

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, vocabulary, width, bidirectional):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, dropout=0.1, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(width * (2 if bidirectional else 1), vocabulary)

    def forward(self, tokens):
        mixed, _ = self.lstm(self.embed(tokens))
        return self.head(mixed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--lengths", choices=("fixed", "random"), default="fixed")
    parser.add_argument("--native", action="store_true", help="without cuDNN: one step of time after the other")
    parser.add_argument("--bidirectional", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    draw = random.Random(1)
    torch.backends.cudnn.enabled = not options.native
    model = Model(2000, 128, options.bidirectional).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(options.steps):
        length = options.length if options.lengths == "fixed" else draw.randint(4, options.length)
        tokens = torch.randint(2000, (16, length + 1)).cuda()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
    print(f"lstm: {options.steps} steps done")


if __name__ == "__main__":
    main()
