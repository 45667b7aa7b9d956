#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of one purpose (runtime, remote, test, boards, migrate, prove, bench, fuzz, lint) that are missing, and says which;
# --list instead writes each package with its purposes.
set -euo pipefail

declare -A wanted=(
    [runtime]="g++ ccache make cmake ninja-build python3-venv python3-dev libjsoncpp-dev stress-ng"
    [remote]="libsodium-dev libisal-dev libfabric-dev"
    [test]="iverilog liblz4-dev libzydis-dev libsodium-dev libisal-dev libfabric-dev perl clang libclang-rt-dev libgtest-dev relacy-dev qemu-user qemu-system-arm qemu-system-misc qemu-system-x86 libelf1 gdb-multiarch device-tree-compiler libc6-dev-arm64-cross gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib
            g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu g++-i686-linux-gnu
            g++-powerpc64-linux-gnu chromium lld binaryen wabt coq"
    [boards]="qemu-system-arm qemu-system-misc qemu-user gdb-multiarch device-tree-compiler libc6-dev-arm64-cross gcc-arm-none-eabi
            libstdc++-arm-none-eabi-newlib g++-aarch64-linux-gnu g++-arm-linux-gnueabihf g++-riscv64-linux-gnu"
    [migrate]="clang lld binaryen wabt qemu-user"
    [prove]="coq"
    [bench]="libboost-dev cargo rt-tests redis-server"
    [fuzz]="clang libclang-rt-dev"
    [lint]="clang clang-format clang-tidy gcc-arm-none-eabi libstdc++-arm-none-eabi-newlib g++-aarch64-linux-gnu g++-riscv64-linux-gnu"
)
purpose=${1:?usage: install-packages.sh runtime|remote|test|boards|migrate|prove|bench|fuzz|lint|--list}
if [ "$purpose" = --list ]; then
    for purpose in "${!wanted[@]}"; do printf '%s %s\n' $(for package in ${wanted[$purpose]}; do echo "$package $purpose"; done); done |
        sort
    exit 0
fi
[ -n "${wanted[$purpose]:-}" ] || { echo "no such purpose: $purpose" >&2; exit 2; }

missing=()
for package in ${wanted[$purpose]}; do
    # A tool from elsewhere (rustup's cargo, a newer Python with venv) does as well as the package.
    case $package in
        cargo | ccache | cmake | clang-format | clang-tidy | stress-ng | chromium) command -v "$package" > /dev/null && continue ;;
        ninja-build) command -v ninja > /dev/null && continue ;;
        python3-venv | python3-dev)
            python3 -c 'import sys, ensurepip; sys.exit(sys.prefix == "/usr")' 2> /dev/null && continue ;;
    esac
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ ! -e /etc/debian_version ]; then
    echo "missing here, and this is not a Debian system to install them on: ${missing[*]}" >&2
    exit 3
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || { echo "run as root, or install sudo, or: apt-get install ${missing[*]}" >&2; exit 3; }
    sudo=sudo
fi
echo "installing Debian packages ($purpose): ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Another installation, for one the system's own upgrade after a boot, holds the locks for a while.
apt=($sudo apt-get -qq -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)
if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}" > /dev/null; }; then
    echo "these Debian packages cannot be installed here: ${missing[*]}; see to the network, or to apt's sources" >&2
    exit 3
fi
