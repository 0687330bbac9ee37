#!/bin/sh
# SPDX-License-Identifier: MIT
# Run the preload under an older C library: old_root.sh ROOT LIBRARY PROBE, as root.
#
# ROOT is a file system with gcc in it, say from
#     debootstrap --variant=minbase --include=gcc,libc6-dev bullseye ROOT
# (glibc 2.31, where dlopen is still in libdl.so.2). LIBRARY and PROBE are libshapecache.so and libprobe.so as built
# here; the programs are compiled in there.
set -eu

root=$1 library=$2 probe=$3
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/tmp/shapecache-old-root

rm -rf "$work"
mkdir -p "$work"
cp -r "$top/hooks" "$top/src" "$top/include" "$top/tests/preload" "$library" "$probe" "$work"
chroot "$root" /bin/sh -eu -c '
cd /tmp/shapecache-old-root
flags="-O1 -std=gnu11 -D_GNU_SOURCE -Ihooks -Isrc -Iinclude"
export LD_LIBRARY_PATH=$PWD SHAPECACHE_LOG=off
gcc $flags -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o libcuda.so.1 preload/fake_table.c \
    preload/fake_cuda.c -lpthread -ldl
gcc $flags -o test_process preload/test_process.c -lpthread -ldl
gcc $flags -o test_doors preload/test_doors.c -ldl
gcc $flags -o test_rules preload/test_rules.c libcuda.so.1 -lpthread -ldl
gcc $flags -o test_absent preload/test_absent.c -ldl
ldd --version | head -1
LD_PRELOAD=$PWD/libshapecache.so /bin/true
LD_PRELOAD=$PWD/libprobe.so ./test_doors
LD_PRELOAD=$PWD/libprobe.so ./test_rules
LD_LIBRARY_PATH= LD_PRELOAD=$PWD/libshapecache.so ./test_absent
for case in frees no_context children destructor closed exit threads; do
    status=0
    LD_PRELOAD=$PWD/libshapecache.so ./test_process $case || status=$?
    [ $status -eq 7 ] || { echo "$case ended with $status"; exit 1; }
done
echo "all well under this C library"
'
rm -rf "$work"
