# SPDX-License-Identifier: MIT
"""Finds libshapecache.so and declares its functions.

The library counts as found, in this order: loaded in this process already (preloaded, linked, or opened by somebody
else); the file that SHAPECACHE_LIBRARY names, and then no other; libshapecache.so beside this package; in the build
folder of the source tree that this package lies in. Only a library that was loaded before the program's first CUDA call
caches; one opened here serves what needs no hooks, and answers the rest as a cache that is off does.

function() is for what a program may call whether or not there is a library, need() for what makes no sense without one.
check() turns a status into an exception."""

import ctypes
import os
import pathlib
import threading
import warnings

OK = 0
OFF = 1  # SHAPECACHE_EOFF

_FILE = "libshapecache.so"
_HERE = pathlib.Path(__file__).resolve().parent
_lock = threading.RLock()
_library = None
_has_looked = False
_functions = {}


class Error(RuntimeError):
    """A function of the library refused; `status` is its shapecache_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class NotFound(RuntimeError):
    """There is no library, or an older one without the function."""


def _is_ours(library):
    return hasattr(library, "shapecache_status_text")


def _loaded():
    """The library that is in this process: visible to everybody, or opened by somebody for himself."""
    everything = ctypes.CDLL(None)
    if _is_ours(everything):
        return everything
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.rstrip().endswith("/" + _FILE)}
    except OSError:
        return None
    for path in sorted(paths):
        try:
            return ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
    return None


def _open(path):
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        warnings.warn(f"shapecache: {error}; going on without", RuntimeWarning, stacklevel=4)
        return None
    if not _is_ours(library):
        warnings.warn(f"shapecache: {path} is no libshapecache.so; going on without", RuntimeWarning, stacklevel=4)
        return None
    return library


def _nearby():
    places = [_HERE]
    if _HERE.parts[-3:-1] == ("hooks", "python"):
        places.append(_HERE.parents[2] / "build")
    return [place / _FILE for place in places if (place / _FILE).is_file()]


def library():
    """The library, or None. Looked for once."""
    global _library, _has_looked
    with _lock:
        if not _has_looked:
            _has_looked = True
            named = os.environ.get("SHAPECACHE_LIBRARY")
            _library = _loaded()
            if _library is None:
                places = [named] if named else _nearby()
                _library = _open(places[0]) if places else None
    return _library


def function(name, arguments=(), result=ctypes.c_int):
    """The library's function `name` with its prototype set, or None without a library or such a function."""
    with _lock:
        if name not in _functions:
            found = getattr(library(), name, None) if library() is not None else None
            if found is not None:
                found.argtypes = list(arguments)
                found.restype = result
            _functions[name] = found
    return _functions[name]


def need(name, arguments=(), result=ctypes.c_int):
    """The same, but raises NotFound."""
    found = function(name, arguments, result)
    if found is None:
        if library() is not None:
            raise NotFound(f"this {_FILE} has no {name}: it is older than this package")
        raise NotFound(f"{_FILE} is neither loaded nor found: preload it, or set SHAPECACHE_LIBRARY to its path")
    return found


def text(status):
    """The library's sentence for a status."""
    sentence = function("shapecache_status_text", [ctypes.c_int], ctypes.c_char_p)
    return sentence(status).decode() if sentence is not None else f"status {status}"


def check(status):
    """Raises Error for every status but SHAPECACHE_OK."""
    if status != OK:
        raise Error(status, text(status))


def is_done(status):
    """True for SHAPECACHE_OK, False for a cache that is off; raises Error for the rest."""
    if status == OFF:
        return False
    check(status)
    return True
