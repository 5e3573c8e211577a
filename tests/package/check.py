"""What each unpacked package has: `check.py FOLDER`. Prints a line for each, and fails with what is missing."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# what crates.io shows, or asks for
FIELDS = ["name", "version", "description", "license", "rust-version", "edition", "readme", "keywords", "categories"]
LIMIT = 10 * 1024 * 1024  # of crates.io, compressed; these are not


def missing(package: Path) -> list[str]:
    manifest = tomllib.loads((package / "Cargo.toml").read_text())
    found = [f"no `{field}` in Cargo.toml" for field in FIELDS if not manifest["package"].get(field)]
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
        if not (package / licence).is_file() or (package / licence).read_bytes() != (ROOT / licence).read_bytes():
            found.append(f"{licence} is not the one of the repository")
    if not (package / "README.md").is_file():
        found.append("no README.md")
    # of a program, crates.io shows the README; of a library, docs.rs every item with the feature it needs
    metadata = manifest["package"].get("metadata", {}).get("docs", {}).get("rs", {})
    if manifest.get("features") and (package / "src/lib.rs").is_file() and not metadata.get("all-features"):
        found.append("no `all-features = true` in [package.metadata.docs.rs]")
    for place, tables in [("", manifest), *((f"target.{name}.", of) for name, of in manifest.get("target", {}).items())]:
        for table in ["dependencies", "build-dependencies", "dev-dependencies"]:
            for name, dependency in tables.get(table, {}).items():
                if "path" in dependency or "git" in dependency or "version" not in dependency:
                    found.append(f"{name} in [{place}{table}] is not a version of crates.io")
    # a link in the repository, and the page itself in a package
    for page in (package / "docs").glob("*.md"):
        source = ROOT / manifest["package"]["name"] / "docs" / page.name
        if page.is_symlink() or page.read_bytes() != source.read_bytes():
            found.append(f"docs/{page.name} is not the one of the repository")
    return found + (examples(package) if (package / "build.rs").is_file() else [])


def examples(package: Path) -> list[str]:
    """`cargo mcp new` copies the examples: a package has every file that git has."""
    known = subprocess.check_output(["git", "ls-files", "examples"], cwd=ROOT, text=True).split()
    renamed = [name.removesuffix("Cargo.toml") + "Cargo.toml.embedded" if name.endswith("/Cargo.toml") else name for name in known]
    wanted = {name.removeprefix("examples/"): ROOT / path for path, name in zip(known, renamed)}
    embedded = package / "embedded"
    same = lambda name, path: (embedded / name).is_file() and (embedded / name).read_bytes() == path.read_bytes()
    return [f"embedded/{name} is not examples/{name}" for name, path in wanted.items() if not same(name, path)]


def main() -> None:
    failed = False
    for package in sorted(path for path in Path(sys.argv[1]).iterdir() if (path / "Cargo.toml").is_file()):
        files = [path for path in package.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        complaints = missing(package) + ([f"{size} bytes"] if size > LIMIT else [])
        print(f"{package.name}: {len(files)} files, {size // 1024} KiB")
        for complaint in complaints:
            print(f"  {complaint}", file=sys.stderr)
        failed = failed or bool(complaints)
    if failed:
        sys.exit("A package lacks something: see the lines above, and Cargo.toml of the crate.")


main()
