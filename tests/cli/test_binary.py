#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool's file: it must start on any system whose C library is 2.17 or later."""

import re
import subprocess

from tool import TOOL, Case, main


def read(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Binary(Case):
    def test_it_needs_the_c_library_alone(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", read("readelf", "-dW", str(TOOL)))
        self.assertLessEqual(set(needed), {"libc.so.6", "libdl.so.2"})

    def test_it_needs_no_symbol_newer_than_glibc_2_17(self):
        versions = set(re.findall(r"GLIBC_(\d+)\.(\d+)", read("readelf", "-VW", str(TOOL))))
        self.assertTrue(versions)
        self.assertLessEqual(max((int(major), int(minor)) for major, minor in versions), (2, 17), versions)


main()
