# SPDX-License-Identifier: MIT
"""As much of PyTorch as saved tensors need, on a real or simulated GPU by ctypes: tensors that own device memory, and an
autograd that packs what it saves and unpacks it in whatever order a test asks."""

import ctypes
import sys
import types

_runtime = ctypes.CDLL("libcudart.so.13")
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_runtime.cudaMalloc.argtypes = [ctypes.POINTER(_POINTER), _SIZE]
_runtime.cudaFree.argtypes = [_POINTER]
_runtime.cudaMemcpyAsync.argtypes = [_POINTER, _POINTER, _SIZE, ctypes.c_int, _POINTER]
_runtime.cudaMemsetAsync.argtypes = [_POINTER, ctypes.c_int, _SIZE, _POINTER]
_runtime.cudaStreamSynchronize.argtypes = [_POINTER]
_runtime.cudaStreamCreateWithFlags.argtypes = [ctypes.POINTER(_POINTER), ctypes.c_uint]

strided = "strided"
CACHE = {}  # size -> addresses: a caching allocator, so that memory is used again with no wait


def must(error):
    if error != 0:
        raise RuntimeError(f"CUDA error {error}")


class _Stream:
    def __init__(self):
        made = _POINTER()
        must(_runtime.cudaStreamCreateWithFlags(ctypes.byref(made), 1))
        self.cuda_stream = made.value


class _Cuda:
    def __init__(self):
        self.stream = None

    def current_device(self):
        return 0

    def current_stream(self):
        if self.stream is None:
            must(_runtime.cudaFree(None))
            self.stream = _Stream()
        return self.stream


cuda = _Cuda()


class _Memory:
    """Goes back to the cache of this module as soon as nothing refers to it: in stream order, as PyTorch's does."""

    def __init__(self, size):
        self.size = size
        if CACHE.get(size):
            self.address = CACHE[size].pop()
            return
        made = _POINTER()
        must(_runtime.cudaMalloc(ctypes.byref(made), size))
        self.address = made.value

    def __del__(self):
        CACHE.setdefault(self.size, []).append(self.address)


class Tensor:
    def __init__(self, shape, stride, memory=None, kind="cuda"):
        self.shape, self._stride = tuple(shape), tuple(stride)
        self.memory = memory or _Memory(self.numel() * 4)
        self.device = types.SimpleNamespace(type=kind, index=0)
        self.dtype, self.layout = "float32", strided
        self.is_leaf, self.requires_grad, self._base, self._version = False, True, None, 0

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def stride(self):
        return self._stride

    def element_size(self):
        return 4

    def data_ptr(self):
        return self.memory.address

    def detach(self):
        return Tensor(self.shape, self._stride, self.memory)

    def is_complex(self):
        return False

    def is_neg(self):
        return False

    def fill(self, byte):
        must(_runtime.cudaMemsetAsync(self.data_ptr(), byte, self.numel() * 4, cuda.current_stream().cuda_stream))
        return self

    def bytes(self):
        out = ctypes.create_string_buffer(self.numel() * 4)
        stream = cuda.current_stream().cuda_stream
        must(_runtime.cudaMemcpyAsync(out, self.data_ptr(), len(out), 2, stream))
        must(_runtime.cudaStreamSynchronize(stream))
        return out.raw


class Parameter(Tensor):
    pass


def empty_strided(shape, stride, *, dtype, device):
    assert dtype == "float32" and device.type == "cuda"
    return Tensor(shape, stride)


class saved_tensors_hooks:
    current = None

    def __init__(self, pack, unpack):
        self.pair = pack, unpack

    def __enter__(self):
        self.before, saved_tensors_hooks.current = saved_tensors_hooks.current, self.pair

    def __exit__(self, *error):
        saved_tensors_hooks.current = self.before


class Saved:
    """What an operation saved; get() may be called more than once, as with retain_graph."""

    def __init__(self, tensor):
        pack, self.unpack = saved_tensors_hooks.current
        self.packed = pack(tensor)

    def get(self):
        return self.unpack(self.packed)


def install():
    """From now on `import torch` finds this module."""
    this = sys.modules[__name__]
    this.nn = types.SimpleNamespace(Parameter=Parameter)
    this.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(saved_tensors_hooks=saved_tensors_hooks))
    sys.modules["torch"] = this
