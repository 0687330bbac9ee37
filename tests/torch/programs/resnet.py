# SPDX-License-Identifier: MIT
"""A small residual network for images: convolutions, batch normalisation, SGD with momentum."""
import argparse
import contextlib
import random

import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
        self.short = nn.Identity()
        if stride != 1 or inside != outside:
            self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        return F.relu(self.main(x) + self.short(x))


def network(width, classes):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes))


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--sizes", choices=("fixed", "random"), default="fixed", help="of the images")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    return parser.parse_args()


def main():
    options = parse()
    torch.manual_seed(1)
    draw = random.Random(1)
    model = network(options.width, 10).cuda()
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(options.steps):
        size = 64 if options.sizes == "fixed" else draw.randrange(32, 97, 2)
        images = torch.randn(options.batch, 3, size, size).cuda()
        labels = torch.randint(10, (options.batch,)).cuda()
        half = options.precision == "bf16"
        with torch.autocast("cuda", dtype=torch.bfloat16) if half else contextlib.nullcontext():
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    model.eval()
    with torch.inference_mode():
        model(torch.randn(4, 3, 64, 64, device="cuda")).argmax(1).cpu()
    print(f"resnet: {options.steps} steps done")


if __name__ == "__main__":
    main()
