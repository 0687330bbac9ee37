# SPDX-License-Identifier: MIT
"""Python runs this at its start under `shapecache run --torch`, whose PYTHONPATH leads here.

It waits for torch to be imported, and only then loads the rest (shapecache.torch_view): a Python that does not use PyTorch
notices nothing. This folder leaves sys.path at once, and a sitecustomize of the user's own runs as if this one were not
there."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start(torch):
    """torch has just been imported."""
    try:
        parent = os.path.dirname(_HERE)
        sys.path.insert(0, parent)
        try:
            from shapecache import torch_view
        finally:
            sys.path.remove(parent)
        torch_view.start(torch)
    except Exception as error:  # whatever is wrong in here is no reason for the program not to run
        print(f"shapecache: --torch has no effect on {torch.__name__} {getattr(torch, '__version__', '')}: "
              f"{type(error).__name__}: {error}", file=sys.stderr)


class _Watch:
    """Stands first among the finders until torch is looked for."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._follow(spec.loader)
                return spec
        sys.meta_path.insert(0, self)
        return None

    @staticmethod
    def _follow(loader):
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            execute(module)
            _start(module)

        loader.exec_module = exec_module


def _run_the_users():
    """The sitecustomize that Python would have found without this folder."""
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None) if hasattr(finder, "find_spec") else None
        if spec is not None and spec.loader is not None:
            import _frozen_importlib  # has importlib.util's function, without what that imports
            module = _frozen_importlib.module_from_spec(spec)
            sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
            return


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
if os.environ.get("SHAPECACHE_TORCH", "off") != "off":
    if "torch" in sys.modules:  # a .pth file may have wanted it
        _start(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _Watch())
_run_the_users()
