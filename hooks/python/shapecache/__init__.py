# SPDX-License-Identifier: MIT
"""What a Python program may tell the shape-gated buffer cache, and ask it.

Nothing here is needed for the cache to work, and everything but what is documented otherwise is harmless without one:
where the library is absent or the cache is off, the functions do nothing and say so by what they return."""

from shapecache._library import Error, NotFound
from shapecache.arena import Arena, ArenaError, ArenaFullError, ArenaOrderError, ArenaStats, Ticket
from shapecache.program import mark, phase, step
from shapecache.ring import Drawn, Loaded, Ring
from shapecache.scope import Memory, Scope, memory, scope, trim

__all__ = ["Arena", "ArenaError", "ArenaFullError", "ArenaOrderError", "ArenaStats", "Drawn", "Error", "Loaded",
           "Memory", "NotFound", "Ring", "Scope", "Ticket", "mark", "memory", "phase", "scope", "step", "trim"]
