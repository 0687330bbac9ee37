# SPDX-License-Identifier: MIT
"""A custom operation, compiled by nvcc, that calls cudaMalloc and cudaFree in every backward pass beside PyTorch's own
allocator; and what that allocator gives back."""
import argparse
import ctypes

import torch

MIB = 1 << 20


def operation(path, scratch):
    library = ctypes.CDLL(path)
    library.scratch_scale.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            gradient = gradient.contiguous()
            out = torch.empty_like(gradient)
            stream = torch.cuda.current_stream().cuda_stream
            error = library.scratch_scale(out.data_ptr(), gradient.data_ptr(), gradient.numel(), scratch, stream)
            assert error == 0, error
            return out

    return Scale.apply


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="tests/torch/extension, built")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--fill", action="store_true", help="at last fill the device, so that PyTorch has to recover")
    options = parser.parse_args()
    scale = operation(options.library, 24 * MIB)
    model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.randn(1024, 512).cuda()
    for _ in range(options.steps):
        optimizer.zero_grad()
        scale(model(inputs)).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    if options.fill:
        recover()
    before = torch.cuda.mem_get_info()[0]
    held = torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")
    del held
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    print(f"extension: given back {torch.cuda.mem_get_info()[0] - before >= 0}, done")


def recover():
    """PyTorch holds free segments of another size than it now needs: it runs out of memory, gives them back, and goes on."""
    total = torch.cuda.get_device_properties(0).total_memory
    pieces = [torch.empty(total // 16, dtype=torch.uint8, device="cuda") for _ in range(12)]
    del pieces
    whole = torch.empty(total * 3 // 4, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_stats()["num_alloc_retries"] > 0
    del whole


if __name__ == "__main__":
    main()
