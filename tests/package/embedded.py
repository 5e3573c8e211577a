"""Which examples the packaged `cargo mcp` has: `cargo check --message-format=json … | embedded.py FOLDER`, with the folder of
the packages. In the repository the build script reads `../examples`; only in a package it reads `embedded/`."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def table(packages: Path) -> dict[str, Path]:
    """The files that the build script of the package has found, by the name that `cargo mcp new` gives them."""
    # all of it is read, or cargo would fail
    messages = [json.loads(line) for line in sys.stdin]
    built = [message for message in messages if message["reason"] == "build-script-executed"]
    built = [message for message in built if f"{packages}/cargo-mcp-" in message["package_id"]]
    if not built:
        sys.exit("The build script of the packaged cargo-mcp was not run.")
    found, example = {}, ""
    for line in (Path(built[0]["out_dir"]) / "examples.rs").read_text().splitlines():
        if begun := re.match(r'\s*Example \{ name: "(.+?)"', line):
            example = begun[1]
        elif file := re.match(r'\s*\("(.+?)", include_bytes!\("(.+?)"\)\)', line):
            found[f"{example}/{file[1]}"] = Path(file[2])
    return found


def main() -> None:
    packages = Path(sys.argv[1]).resolve()
    found = table(packages)
    known = subprocess.check_output(["git", "ls-files", "examples"], cwd=ROOT, text=True).split()
    # as build.rs does
    skipped = lambda part: part.startswith(".") or part in ["target", "Cargo.lock"]
    wanted = {name.removeprefix("examples/") for name in known if not any(map(skipped, name.split("/")))}
    complaints = [f"examples/{name} is not in `cargo mcp new`" for name in sorted(wanted - found.keys())]
    complaints += [f"`cargo mcp new` has {name}, which git has not" for name in sorted(found.keys() - wanted)]
    complaints += [f"{path} is not in the package" for path in found.values() if packages not in path.parents]
    if complaints:
        sys.exit("\n".join(complaints) + "\nThe packaged `cargo mcp new` makes other servers than examples/: see cargo-mcp/build.rs and embed.sh.")
    print(f"cargo mcp new: {len({name.split('/')[0] for name in found})} examples, {len(found)} files")


main()
