"""Checks what `cargo mcp pack` and `cargo mcp skill` have written: validate.py FOLDER MANIFEST_SCHEMA.

FOLDER has demo.mcpb, server.json and the bundle, unpacked by the official tool, in bundle/.
"""

import hashlib
import json
import os
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

from jsonschema import Draft7Validator, FormatChecker
from jsonschema.validators import validator_for

folder = Path(sys.argv[1])
problems = []


def check(name, document, schema):
    validator = validator_for(schema, default=Draft7Validator)(schema, format_checker=FormatChecker())
    found = [f"{name}: {'/'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(document)]
    print(f"{name}: {'; '.join(found) or 'valid'}")
    problems.extend(found)


def expect(what, condition):
    print(f"{what}: {'yes' if condition else 'NO'}")
    if not condition:
        problems.append(what)


manifest = json.loads((folder / "bundle/manifest.json").read_text())
check("manifest.json", manifest, json.loads(Path(sys.argv[2]).read_text()))
expect("it is of version 0.3", manifest["manifest_version"] == "0.3")
expect("it lists the tools", [tool["name"] for tool in manifest["tools"]] == ["add", "count_words"])

server = json.loads((folder / "server.json").read_text())
# the registry publishes its schema on its site only; this package has a copy of each
schema = json.loads(files("skillsaw").joinpath("schemas/mcp_registry/v2025_12_11/server.schema.json").read_text())
expect("the schema of the registry is the one that server.json names", schema["$id"] == server["$schema"])
check("server.json", server, schema)
cargo, mcpb = server["packages"]
expect("the first package is the crate", (cargo["registryType"], cargo["identifier"]) == ("cargo", "demo"))
digest = hashlib.sha256((folder / "demo.mcpb").read_bytes()).hexdigest()
expect("the second is the bundle, with its hash", (mcpb["registryType"], mcpb["fileSha256"]) == ("mcpb", digest))

entry = zipfile.ZipFile(folder / "demo.mcpb").getinfo("server/demo")
expect("the binary is executable in the ZIP", entry.external_attr >> 16 & 0o777 == 0o755)
expect("and when the official tool has unpacked it", os.access(folder / "bundle/server/demo", os.X_OK))

for problem in problems:
    print(f"failed: {problem}")
sys.exit(bool(problems))
