"""Writes the blocks of docs/book/deploying.md and docs/book/http.md to files: `blocks.py DIRECTORY`. The first line of a block names its
file; those of http.md are in a directory of their own, `http`."""

import pathlib
import re
import sys

import yaml

directory = pathlib.Path(sys.argv[1])


def write(name, directory, expected):
    """Writes the blocks of a page, which are these files, and returns the page."""
    page = pathlib.Path("docs/book", name).read_text()
    directory.mkdir(exist_ok=True)
    written = set()
    for language, text in re.findall(r"^```(ini|nginx|caddyfile|dockerfile|yaml)\n(.*?)^```$", page, re.M | re.S):
        first = text.splitlines()[0]
        # a Dockerfile has the name that the tool looks for
        file = "Dockerfile" if language == "dockerfile" else pathlib.PurePath(first.removeprefix("# ")).name
        (directory / file).write_text(text)
        written.add(file)
    if written != expected:
        sys.exit(f"{name} has {sorted(written)}, not {sorted(expected)}")
    return page


page = write("deploying.md", directory, {"demo.socket", "demo.service", "mcp.conf", "Caddyfile", "Dockerfile", "demo.yaml"})
write("http.md", directory / "http", {"hello.socket", "hello.service", "hello.conf"})
# a file that another page shows would be checked by nothing
for other in pathlib.Path("docs/book").glob("*.md"):
    if other.name not in ("deploying.md", "http.md") and re.search(r"^```(ini|nginx|caddyfile|dockerfile|yaml)$", other.read_text(), re.M):
        sys.exit(f"{other} shows a file for another program: let tests/deploy/run check it")

# What the schemas of Kubernetes cannot know: that numbers on the page fit each other.
documents = list(yaml.safe_load_all((directory / "demo.yaml").read_text()))
deployment, service, ingress = documents
pod = deployment["spec"]["template"]["spec"]
container = pod["containers"][0]
drain = 5
slept = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
assert pod["terminationGracePeriodSeconds"] > slept + drain, "the grace period is too short"
assert f'addr {container["env"][0]["value"]}' == f'addr 0.0.0.0:{container["ports"][0]["containerPort"]}'
assert deployment["spec"]["template"]["metadata"]["labels"] == service["spec"]["selector"]
for path in ingress["spec"]["rules"][0]["http"]["paths"]:
    assert path["backend"]["service"] == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
host = ingress["spec"]["rules"][0]["host"]
assert f'.allow_hosts(["{host}"])' in page and ingress["spec"]["tls"][0]["hosts"] == [host], "the server does not know its name"
for probe in ("livenessProbe", "readinessProbe"):
    path = container[probe]["httpGet"]["path"]
    assert f'"{path}"' in page, f"the program does not serve {path}"
stop = int(re.search(r"^TimeoutStopSec=(\d+)$", page, re.M).group(1))
assert stop > drain, "TimeoutStopSec is too short"
defaults = pathlib.Path("mcp-runtime/src/limits.rs").read_text()
assert f"drain_timeout: Duration::from_secs({drain})" in defaults, "the drain timeout has changed: change the page"
