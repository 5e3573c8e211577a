# shellcheck shell=bash
# Checks for targets that this machine has no standard library, no C library and no linker for. Sourced.

# Debian's compiler: unlike rustup's toolchains, it comes with its standard library's source.
missing=()
for package in rustc-web cargo-web rust-web-src python3-venv; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    (apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}") >/dev/null
fi

out=$PWD/target/platforms
# A C compiler for every target, for the C code of `ring` and SQLite.
zig=$out/zig
if [ ! -x "$zig/bin/python" ] || ! "$zig/bin/python" -c 'import ziglang' 2>/dev/null; then
    mkdir -p "$out"
    python3 -m venv "$zig"
    "$zig/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.0
fi

# `RUSTC_BOOTSTRAP` for the standard library from source, which is a feature of nightly compilers otherwise.
export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_DIR=$out
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 PATH=/usr/bin:$PATH
export ZIG_GLOBAL_CACHE_DIR=$out/zig-cache ZIG_LOCAL_CACHE_DIR=$out/zig-cache

# check TARGET ZIG_TARGET OPTIONS…: type-checks for a target, whose name in Zig is the second. Sets `packages` to their number.
check() {
    local target=$1 zig_target=$2 variable=${1//-/_}
    shift 2
    export "CC_$variable=$zig/bin/python -m ziglang cc -target $zig_target" "AR_$variable=$zig/bin/python -m ziglang ar"
    packages=$(/usr/bin/cargo check --locked -Zbuild-std=std,panic_unwind --target "$target" --message-format json-render-diagnostics "$@" |
        grep '"reason":"compiler-artifact"' | grep '"package_id":"path+file' | grep -o '"package_id":"[^"]*"' | sort -u | grep -cv '/rust-1\|/rustc-')
}
