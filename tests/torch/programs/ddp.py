# SPDX-License-Identifier: MIT
"""Data-parallel training of two ranks: DistributedDataParallel over NCCL, started as torchrun does it."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.run import main as torchrun
from torch.nn.parallel import DistributedDataParallel


def rank():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
    parallel = DistributedDataParallel(model, device_ids=[local], bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(parallel.parameters())
    for step in range(6):
        loss = parallel(torch.randn(32 + local, 256, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        total.item()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "LOCAL_RANK" in os.environ:
        rank()
    else:
        torchrun(["--standalone", "--nproc-per-node", "2", os.path.abspath(sys.argv[0])])
        print("ddp: done")
