# SPDX-License-Identifier: MIT
"""Out of memory at the device's size, what comes after it, and what the allocator says of itself."""
import torch


def fill(size, held=None):
    """Allocates until the device is full; how often that went well."""
    held = [] if held is None else held
    try:
        while True:
            held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except RuntimeError as error:  # torch.cuda.OutOfMemoryError is one, and not what is raised without the cache
        assert "out of memory" in str(error), error
    return len(held)


def main():
    total = torch.cuda.get_device_properties(0).total_memory
    free, of = torch.cuda.mem_get_info()
    assert of == total and 0 < free <= total
    assert fill(total + 1) == 0
    held = []
    assert 6 <= fill(total // 8, held) <= 8
    assert len(held) >= 6
    del held
    torch.cuda.synchronize()  # where frees are in the order of a stream, how many are done would decide how often PyTorch asks
    torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < total // 4

    if torch.cuda.get_allocator_backend() == "native":
        history()
    torch.cuda.reset_peak_memory_stats()
    print("memory: done")


def history():
    torch.cuda.memory._record_memory_history()
    kept = [torch.zeros(1 << 18, device="cuda") for _ in range(8)]
    snapshot = torch.cuda.memory._snapshot()
    assert "segments" in snapshot
    torch.cuda.memory._record_memory_history(enabled=None)
    assert sum(t.numel() for t in kept) == 8 << 18


if __name__ == "__main__":
    main()
