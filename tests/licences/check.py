#!/usr/bin/env python3
"""The licences of what the published crates depend on, on every platform, and crates that are there in two versions.

Every licence expression is satisfied by ALLOWED, and no tree has two incompatible versions of a crate but for TWICE and
TWICE_ON. An entry that nothing needs any more is a failure, too.
"""

import re
import subprocess
import sys

# licence: what it asks of whoever ships a server, in short
ALLOWED = {
    "MIT": "keep the notice",
    "Apache-2.0": "keep the notice",
    "ISC": "keep the notice",
    "BSD-3-Clause": "keep the notice",
    "Unicode-3.0": "keep the notice; tables of Unicode",
    "CDLA-Permissive-2.0": "keep the text with the data; the root certificates of webpki-roots",
}
# of single crates: licences that are not allowed in general, with the reason
ONLY = {
    "foldhash": ("Zlib", "of hashbrown; asks for nothing in binaries"),
    "notify": ("CC0-1.0", "watches files for `cargo mcp dev`; in no server"),
    "xxhash-rust": ("BSL-1.0", "of redis; asks for nothing in binaries"),
}
# (tree, crate): why two versions of it are there
TWICE = {
    ("cargo-mcp", "getrandom"): "ring 0.17 has 0.2, zip has 0.4; neither has a choice, and no server has zip",
}
# (platform, crate): the same for every tree on a platform
TWICE_ON = {
    ("x86_64-pc-windows-msvc", "thiserror"): "filedescriptor has 1.0, others have 2.0",
    ("x86_64-pc-windows-msvc", "thiserror-impl"): "as thiserror",
    ("x86_64-pc-windows-msvc", "syn"): "of thiserror-impl 1.0; only at compile time",
}

# name: arguments of `cargo tree`
TREES = {
    "stdio server": ["-p", "mcp-runtime"],
    "stdio server with the command line": ["-p", "mcp-runtime", "--features", "cli"],
    "HTTP server": ["-p", "mcp-runtime", "--features", "http,auth"],
    "server with all features": ["-p", "mcp-runtime", "--all-features"],
    "mcp-redis": ["-p", "mcp-redis"],
    "mcp-redis with TLS": ["-p", "mcp-redis", "--all-features"],
    "cargo-mcp": ["-p", "cargo-mcp"],
}
PLATFORMS = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"]


def tree(arguments, platform):
    """The crates of a tree, build and normal dependencies: {(name, version): licence}."""
    command = ["cargo", "tree", *arguments, "--edges=normal,build", "--target", platform, "--prefix=none", "--locked"]
    lines = subprocess.check_output([*command, "--format={p}\t{l}"], text=True).splitlines()
    crates = {}
    for line in lines:
        package, licence = line.removesuffix(" (*)").split("\t")
        name, version = package.split()[:2]
        crates[name, version.removeprefix("v")] = licence
    return crates


def satisfied(expression, allowed):
    """Whether a licence expression of SPDX, or one with the older `/`, is satisfied by these licences."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def term():
        token = tokens.pop(0)
        if token == "(":
            value = choice()
            tokens.pop(0)
            return value
        if tokens[:1] == ["WITH"]:
            token += f" WITH {tokens[1]}"
            del tokens[:2]
        return token in allowed

    def both():
        value = term()
        while tokens[:1] == ["AND"]:
            tokens.pop(0)
            value = term() and value
        return value

    def choice():
        value = both()
        while tokens[:1] == ["OR"]:
            tokens.pop(0)
            value = both() or value
        return value

    return bool(tokens) and choice() and not tokens


def line_of(version):
    """Versions of one line are compatible: 1.2 and 1.3, 0.4.1 and 0.4.2."""
    major, minor, patch = version.split("-")[0].split("+")[0].split(".")
    return (major,) if major != "0" else (major, minor) if minor != "0" else (major, minor, patch)


def licence_findings(crates):
    findings, needed = [], set()
    for (name, version), licence in sorted(crates.items()):
        own = ONLY.get(name, (None, ""))[0]
        allowed = ALLOWED.keys() | {own}
        if not satisfied(licence, allowed):
            findings.append(f"{name} {version}: licence `{licence or 'none'}` is not allowed")
            continue
        needed |= {one for one in allowed if not satisfied(licence, allowed - {one})} & ALLOWED.keys()
        if own and not satisfied(licence, ALLOWED.keys()):
            needed.add(name)
    for stale in sorted((ALLOWED.keys() | ONLY.keys()) - needed):
        findings.append(f"`{stale}` is allowed, but no dependency needs it: remove it from tests/licences/check.py")
    return findings


def duplicate_findings(trees):
    findings, used = [], set()
    for (tree_name, platform), crates in trees.items():
        versions = {}
        for name, version in crates:
            versions.setdefault(name, {})[line_of(version)] = version
        for name, lines in versions.items():
            if len(lines) < 2:
                continue
            reasons = {(tree_name, name), (platform, name)} & (TWICE.keys() | TWICE_ON.keys())
            used |= reasons
            if not reasons:
                findings.append(f"{tree_name} on {platform}: {name} is there as {' and '.join(sorted(lines.values()))}")
    for where, name in sorted((TWICE.keys() | TWICE_ON.keys()) - used):
        findings.append(f"{where} has {name} only once now: remove it from tests/licences/check.py")
    return findings


def self_test():
    for expression in ["MIT", "MIT/GPL", "GPL OR MIT", "(MIT OR GPL) AND Apache-2.0", "GPL AND X OR MIT"]:
        assert satisfied(expression, {"MIT", "Apache-2.0"}), expression
    for expression in ["", "GPL", "MIT AND GPL", "(MIT OR GPL) AND X", "MIT WITH X", "MIT GPL"]:
        assert not satisfied(expression, {"MIT", "Apache-2.0"}), expression
    assert line_of("1.2.3") == line_of("1.9.0") and line_of("0.4.3") != line_of("0.2.17")


def main():
    self_test()
    trees = {(name, platform): tree(arguments, platform) for name, arguments in TREES.items() for platform in PLATFORMS}
    crates = {crate: licence for found in trees.values() for crate, licence in found.items()}
    findings = licence_findings(crates) + duplicate_findings(trees)
    for finding in findings:
        print(finding, file=sys.stderr)
    if findings:
        sys.exit(1)
    print(f"{len(crates)} crates")
    print(f"tested: build: licences, and crates that are there twice: {len(TREES)} trees on {len(PLATFORMS)} platforms")


main()
