#!/usr/bin/env python3
"""What was tested where, read from what a run of `.ci/run` printed.

    page.py LOG          prints the page
    page.py LOG PAGE     writes it

The page has no counts and no times, so that it changes when something else is tested, and not with every test. It knows
the lines of cargo's test runner, the tables and lists of the scripts in `tests/`, and lines `tested: KIND: WHAT: HOW`.
"""

import re
import sys

HEAD = """# What was tested where

Made by [`tests/tested/page.py`](../../tests/tested/page.py) from what a run of [`.ci/run`](../../.ci/run) printed. The
page of a release is that of its last run. What is not here was not tested by it.
"""
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
# what the official suite has no scenarios for
WITHOUT_SCENARIOS = {"2024-11-05"}
# what scripts must have said, by patterns of how WHAT begins: a page without it would look complete
SYSTEMS = [r"Windows, x86_64 \(MinGW\)$", r"Windows, x86_64 \(MinGW\), under Wine", "macOS, "]
BUILDS = ["feature sets", "Redis ", "Rust ", "oldest versions", "packages", "licences"]


def steps(log):
    """The steps, by their titles, each with its lines."""
    found = {}
    lines = found.setdefault("", [])
    for line in log.splitlines():
        if title := re.fullmatch(r"== (.*) \(\d+:\d\d\)", line):
            lines = found.setdefault(title[1], [])
        else:
            lines.append(line)
    return found


def step(found, beginning):
    """The lines of the steps whose titles begin like this; a run without them is not a whole run."""
    lines = [line for title, lines in found.items() if title.startswith(beginning) for line in lines]
    if not lines:
        sys.exit(f"the log has no step {beginning!r}: it is not that of a whole run")
    return lines


def table(head, rows):
    if not rows:
        sys.exit(f"there is nothing for the table of {head[0]!r}: does the log have other lines than this script knows?")
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def said(log, kind, expected):
    """The lines `tested: KIND: WHAT: HOW` of scripts, without counts of tests."""
    lines = re.findall(rf"^tested: {kind}: ([^:]+): (.*)$", log, re.M)
    for beginning in expected:
        if not any(re.match(beginning, what) for what, _ in lines):
            sys.exit(f"no line `tested: {kind}: {beginning}…`: a script has not run, or says something else")
    for what, how in lines:
        if re.search(r"\b[1-9]\d* failed", how) or re.search(r"\b0 passed", how):
            sys.exit(f"{what} did not pass: {how}")
    return [(what, re.sub(r":? *\d+ passed, 0 failed", "", how).strip(" ,;")) for what, how in lines]


def suites(lines):
    """The integration tests with at least one test that passed."""
    names = []
    for line in lines:
        if running := re.search(r"Running (?:unittests )?(\S+) \(target/debug/deps/(\w+)-", line):
            source, name = running.groups()
        elif doctests := re.match(r"\s+Doc-tests (\w+)", line):
            source, name = "doctests", doctests[1]
        elif (result := re.match(r"test result: ok\. (\d+) passed", line)) and int(result[1]) > 0:
            names.append((source, name))
    return names


def systems(log, found):
    """Linux is where everything runs; scripts tell of the others."""
    tested = suites(step(found, "tests: the README"))
    integration = sorted({f"`{name}`" for source, name in tested if source.startswith("tests/")})
    linux = f"every step of `.ci/run`; the tests {', '.join(integration)}, unit tests and doctests"
    rows = [["Linux, x86_64", linux], *([what, how] for what, how in said(log, "system", SYSTEMS))]
    return table(["system", "what ran there"], rows)


def transcripts(lines):
    """The revisions that have transcripts, all of which passed."""
    tests = re.findall(r"^test transcripts::(?:\w+::)*v(\d{4}_\d\d_\d\d)\w*(?:::\w+)? \.\.\. (\w+)", "\n".join(lines), re.M)
    if failed := {revision for revision, result in tests if result != "ok"}:
        sys.exit(f"transcripts of {sorted(failed)} did not pass")
    passed = {revision for revision, _ in tests}
    return {revision.replace("_", "-") for revision in passed}


def official(lines):
    """The runs of the official suite without a failure, by name."""
    rows = [line.split() for line in lines]
    return {row[0] for row in rows if len(row) == 8 and row[3:5] == ["0", "0"]}


def revisions(found):
    with_transcripts = transcripts(step(found, "tests: the README"))
    one, three = official(step(found, "conformance: the official")), official(step(found, "conformance: the same"))
    where = [("one server", one), ("three replicas", three)]
    rows = []
    for revision in REVISIONS:
        if revision not in with_transcripts:
            sys.exit(f"the log has no transcript of {revision} that passed")
        for name, runs in where:
            if revision not in runs and revision not in WITHOUT_SCENARIOS:
                sys.exit(f"the log has no run of the official suite for {revision} against {name} without a failure")
        suite = ", ".join(name for name, runs in where if revision in runs) or "has no scenarios for it"
        rows.append([revision, "yes", suite])
    return table(["revision", "transcripts", "official conformance suite, no failure and no warning"], rows)


TRANSPORTS = ["stdio", "http"]
MODES = ["legacy", "auto", "modern", *REVISIONS]


def clients(found):
    """The clients of others, by the lines `NAME VERSION (LANGUAGE)` and `  passed: WHAT, WHAT` of `tests/interop`."""
    tried = {}
    client = None
    for line in step(found, "interoperation"):
        if re.fullmatch(r"\S+ \d[\w.]* \([^)]*\)(, .*)?", line):
            client = line
        elif client and (passed := re.fullmatch(r"  passed: (.*?)(?:: from save to callable .*)?", line)):
            tried.setdefault(client, set()).update(passed[1].split(", "))
    rows = []
    for client, words in tried.items():
        name, rest = client.split(" ", 1)
        transports = [word for word in TRANSPORTS if word in words]
        modes = [word for word in MODES if word in words]
        others = sorted(words.difference(TRANSPORTS, MODES))
        rows.append([f"`{name}` {rest}", ", ".join(transports) or "http", ", ".join(modes), ", ".join(others)])
    return table(["client", "transports", "revisions", "servers, or what it did"], rows)


def browser(found):
    lines = [line for line in step(found, "web pages of other origins") if re.match(r"(allowed|refused) origin: ", line)]
    if len(lines) < 2:
        sys.exit("the log does not say what pages of an allowed and of a refused origin did")
    return "\n".join(f"- {line}" for line in lines)


def page(log):
    found = steps(log)
    features = table(["what", "how"], [[what, how] for what, how in said(log, "build", BUILDS)])
    listed = "\n".join(f"- {title}" for title in found if title and not title.startswith(("what ", "packages of", "programs of others", "more programs of others", "all green")))
    parts = [
        HEAD,
        "## Operating systems\n", systems(log, found), "",
        "## Revisions\n", revisions(found), "",
        "## Clients\n",
        "`legacy` is a session of the newest revision with `initialize` that the client knows, `auto` what it chooses by itself.\n",
        clients(found), "",
        "In headless Chromium, pages of other origins:\n", browser(found), "",
        "## Feature sets, compilers and packages\n", features, "",
        "## Every step\n", listed,
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def main():
    log = re.sub(r"\x1b\[[0-9;]*m", "", open(sys.argv[1], encoding="utf-8", errors="replace").read())
    made = page(log)
    match sys.argv[2:]:
        case []:
            print(made, end="")
        case [path]:
            open(path, "w", encoding="utf-8").write(made)
        case _:
            sys.exit(__doc__)


main()
