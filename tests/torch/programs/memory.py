# SPDX-License-Identifier: MIT
"""Out of memory at the device's size, what comes after it, and what the allocator says of itself."""
import torch


def main():
    total = torch.cuda.get_device_properties(0).total_memory
    free, of = torch.cuda.mem_get_info()
    assert of == total and 0 < free <= total
    try:
        torch.empty(total + 1, dtype=torch.uint8, device="cuda")
        raise SystemExit("memory: more than the device has was given")
    except torch.cuda.OutOfMemoryError as error:
        assert "out of memory" in str(error)

    held = []
    try:
        while True:
            held.append(torch.empty(total // 8, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        assert 6 <= len(held) <= 8, len(held)
    del held
    torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < total // 4

    torch.cuda.memory._record_memory_history()
    kept = [torch.zeros(1 << 18, device="cuda") for _ in range(8)]
    snapshot = torch.cuda.memory._snapshot()
    assert snapshot["segments"]
    torch.cuda.memory._record_memory_history(enabled=None)
    assert sum(t.numel() for t in kept) == 8 << 18
    torch.cuda.reset_peak_memory_stats()
    print("memory: done")


if __name__ == "__main__":
    main()
