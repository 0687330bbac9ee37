#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loader sees of libshapecache.so: test_object.py LIBRARY HOOKS.DEF"""

import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY, TABLE = sys.argv[1:3]
NEWEST_GLIBC = (2, 17)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def rows(*kinds):
    """First arguments of the table's rows of these kinds."""
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(TABLE).read_text(), flags=re.S)
    return set(re.findall(r"^(?:%s)\((\w+)" % "|".join(kinds), text, re.M))


class Object(unittest.TestCase):
    def test_exports_are_the_table_and_nothing_else(self):
        exported = {line.split()[2] for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        self.assertEqual(exported, rows("HOOK", "SERVE", "RUNTIME", "API") | {"dlsym"})

    def test_the_32_bit_functions_are_not_exported(self):
        self.assertFalse(rows("HOOK", "SERVE") & {"cuMemAlloc", "cuMemFree", "cuMemAllocPitch", "cuGetExportTable"})

    def test_needs_only_the_c_library_and_its_companions(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", LIBRARY))
        # A new C library has everything in libc.so.6, but on an old one dlopen is in libdl and the threads elsewhere.
        self.assertEqual(sorted(needed), ["libc.so.6", "libdl.so.2", "libpthread.so.0"])

    def test_no_symbol_version_is_newer_than_2_17(self):
        versions = re.findall(r"GLIBC_([\d.]+)", run("readelf", "--version-info", LIBRARY))
        self.assertIn("2.2.5", versions)
        self.assertLessEqual(max(tuple(map(int, v.split("."))) for v in versions), NEWEST_GLIBC)
        for special in ("GLIBC_PRIVATE", "GLIBC_ABI"):  # private symbols; relocations that an old loader cannot read
            self.assertNotIn(special, run("readelf", "--version-info", LIBRARY))

    def test_its_own_symbols_carry_no_version(self):
        self.assertNotIn("Version definition section", run("readelf", "--version-info", LIBRARY))

    def test_its_name_is_no_cuda_librarys(self):
        soname = re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", LIBRARY)).group(1)
        self.assertEqual(soname, "libshapecache.so")

    def test_it_binds_at_once_and_stays(self):
        flags = run("readelf", "-d", LIBRARY)
        self.assertRegex(flags, r"FLAGS_1\).*NOW.*NODELETE")
        self.assertNotIn("TEXTREL", flags)

    def test_thread_storage_needs_no_call(self):
        self.assertNotIn("__tls_get_addr", run("nm", "-D", "--undefined-only", LIBRARY))


unittest.main(argv=sys.argv[:1], verbosity=2)
