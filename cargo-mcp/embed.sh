#!/usr/bin/env bash
# Before `cargo package`: copies the examples into the package, see build.rs. Not for `cargo install --path`.
set -euo pipefail
cd "$(dirname "$0")"
rm -rf embedded
mkdir embedded
git ls-files ../examples | while read -r file; do
    to=embedded/${file#../examples/}
    if [ "$(basename "$to")" = Cargo.toml ]; then to=$to.embedded; fi
    mkdir -p "$(dirname "$to")"
    cp "$file" "$to"
done
