# SPDX-License-Identifier: MIT
"""A DataLoader with worker processes and pinned memory, sequences of different lengths, and a short last batch."""
import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sequences(Dataset):
    def __len__(self):
        return 75

    def __getitem__(self, index):
        draw = torch.Generator().manual_seed(index)
        length = int(torch.randint(8, 65, (1,), generator=draw))
        return torch.randint(1, 1000, (length,), generator=draw)


def collate(sequences):
    return pad_sequence(sequences, batch_first=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", choices=("fork", "spawn", "forkserver"), default="fork")
    workers = parser.parse_args().workers
    torch.manual_seed(1)
    model = nn.Sequential(nn.Embedding(1000, 128), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Sequences(), batch_size=16, shuffle=True, num_workers=2, pin_memory=True, drop_last=False,
                        collate_fn=collate, multiprocessing_context=workers)
    steps = 0
    for _ in range(2):
        for batch in loader:
            assert batch.is_pinned()
            tokens = batch.to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            steps += 1
    torch.cuda.synchronize()
    assert steps == 10
    print("loader: done")


if __name__ == "__main__":
    main()
