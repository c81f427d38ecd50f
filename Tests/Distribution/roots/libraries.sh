#!/bin/sh
# In a fresh Debian root with the packages of the library in /packages, and older ones in /packages/before: C programs.
set -eu
cd /packages
apt-get update -qq
install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" > /dev/null; }

# The version before, a store that it has written, and the version that follows.
install ./before/libholdfast0_*.deb ./before/libholdfast-dev_*.deb gcc libc6-dev pkg-config
! command -v swift
mkdir /programs && cd /programs
sed -n '/^```c$/,/^```$/p' /packages/README.md | sed '1d;/^```$/,$d' > app.c
cc -Wall -Werror app.c $(pkg-config --cflags --libs holdfast) -o app
[ "$(./app)" = "both are stored" ]
install /packages/libholdfast0_*.deb /packages/libholdfast-dev_*.deb /packages/libholdfast-doc_*.deb
dpkg-query --show libholdfast0 | grep -q "$VERSION-1\$"
[ "$(./app)" = "both are stored" ]
mkdir autopkgtest
[ "$(AUTOPKGTEST_TMP=/programs/autopkgtest sh /packages/program-in-c)" = "both are stored" ]

install cmake make
cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(app C)
find_package(Holdfast 0.1 REQUIRED)
add_executable(built app.c)
target_link_libraries(built PRIVATE Holdfast::holdfast)
END
cmake -S . -B build > /dev/null && cmake --build build > /dev/null && [ "$(build/built)" = "both are stored" ]

# The tarball beside the packages, moved to where it was not made for.
install zstd
tar --extract --zstd --file /packages/holdfast-*.tar.zst -C /opt && mv /opt/holdfast-* /opt/moved
cmake -S . -B moved -D CMAKE_PREFIX_PATH=/opt/moved > /dev/null && cmake --build moved > /dev/null
ldd moved/built | grep -q /opt/moved/lib
[ "$(moved/built)" = "both are stored" ]
PKG_CONFIG_PATH=/opt/moved/lib/pkgconfig pkg-config --cflags --libs holdfast | grep -q moved

for page in holdfast_store holdfast_repository; do
    zcat /usr/share/man/man3/$page.3.gz | grep -q hf_
done
apt-get purge -qq -y libholdfast0 libholdfast-dev libholdfast-doc > /dev/null
left=$(find / -xdev -path /packages -prune -o -path /programs -prune -o -path /opt -prune -o -path /var -prune -o -path /proc -prune \
    -o -name '*holdfast*' -print)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "the libraries do"
