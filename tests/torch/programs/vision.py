# SPDX-License-Identifier: MIT
"""A model of timm's, with random weights, trained with its own augmentation on images of one resolution or of three."""
import argparse

import timm
import timm.optim
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="efficientnet_b0")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--sizes", choices=("fixed", "three"), default="three")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = timm.create_model(options.model, pretrained=False, num_classes=10).cuda()
    optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    mixup, criterion = Mixup(mixup_alpha=0.2, num_classes=10), SoftTargetCrossEntropy()
    for step in range(options.steps):
        size = 128 if options.sizes == "fixed" else (96, 128, 96, 112)[step % 4]
        images, labels = mixup(torch.randn(8, 3, size, size).cuda(), torch.randint(10, (8,)).cuda())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    print("vision: done")


if __name__ == "__main__":
    main()
