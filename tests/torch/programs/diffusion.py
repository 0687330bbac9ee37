# SPDX-License-Identifier: MIT
"""The U-Net of a diffusion model from diffusers, with random weights: a few training steps, then a few of sampling."""
import argparse
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch.nn import functional as F


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(1)
    model = UNet2DModel(sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
                        norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                        up_block_types=("AttnUpBlock2D", "UpBlock2D")).cuda()
    scheduler = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(options.steps):
        clean = torch.randn(8, 3, 32, 32).cuda()
        noise = torch.randn_like(clean)
        times = torch.randint(0, 100, (8,)).cuda()
        noisy = scheduler.add_noise(clean, noise, times)
        loss = F.mse_loss(model(noisy, times).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    with torch.no_grad():
        sample = torch.randn(2, 3, 32, 32).cuda()
        scheduler.set_timesteps(4)
        for time in scheduler.timesteps:
            sample = scheduler.step(model(sample, time).sample, time, sample).prev_sample
        sample.cpu()
    print("diffusion: done")


if __name__ == "__main__":
    main()
