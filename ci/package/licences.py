#!/usr/bin/env python3
"""Prints the licences of the crates that are in the programs and in the preload library, with their texts, in Markdown.

Fails if a crate has a licence that is not accepted. To be run in the root of the workspace.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PROGRAMS = ["unspin-cli", "unspin-lab", "unspin-preload"]
TARGET = "x86_64-unknown-linux-gnu"
ACCEPTED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDDL-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# Names of files that hold a licence or a notice.
TEXTS = re.compile(r"(?i)^(licen[cs]e|copying|notice|unlicense|copyright)")

HEAD = """# Third parties

The crates in the programs unspin and unspin-lab, and in the preload library that unspin carries, each with its licence, and then the
texts that the crates have. SQLite, which is compiled into unspin-lab, is in the public domain. The source of each crate, inferno's under
CDDL-1.0 among them, is at crates.io under its name and version.
"""


def metadata():
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def built_from(workspace):
    """The packages of other authors that are part of the programs: neither for tests nor for build scripts."""
    packages = {package["id"]: package for package in workspace["packages"]}
    edges = {node["id"]: node["deps"] for node in workspace["resolve"]["nodes"]}
    known = set()
    unread = [id for id, package in packages.items() if package["name"] in PROGRAMS]
    while unread:
        id = unread.pop()
        if id not in known:
            known.add(id)
            normal = [edge["pkg"] for edge in edges[id] if any(kind["kind"] is None for kind in edge["dep_kinds"])]
            # A procedural macro runs in the compiler.
            unread += [to for to in normal if not any("proc-macro" in made["kind"] for made in packages[to]["targets"])]
    others = [packages[id] for id in known if packages[id]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def is_accepted(expression):
    """Whether an expression of SPDX can be satisfied by the accepted licences."""
    words = re.findall(r"\(|\)|[^\s()/]+|/", (expression or "").replace(" WITH ", "\0WITH\0"))
    parts = {"(": "(", ")": ")", "AND": "and", "OR": "or", "/": "or"}
    python = " ".join(parts.get(word) or str(word.replace("\0", " ") in ACCEPTED) for word in words)
    return bool(python) and eval(python)


def main():
    assert is_accepted("MIT OR GPL-3.0") and is_accepted("(MIT OR X) AND ISC") and is_accepted("MIT/X")
    assert not is_accepted("GPL-3.0") and not is_accepted("MIT AND GPL-3.0") and not is_accepted(None)
    crates = built_from(metadata())
    refused = [crate for crate in crates if not is_accepted(crate["license"])]
    for crate in refused:
        print(f"{crate['name']} {crate['version']}: licence {crate['license']} is not accepted", file=sys.stderr)
    if refused or len(crates) < 50:
        sys.exit(f"{len(crates)} crates, of which {len(refused)} have a licence that is not in the list of {__file__}")
    users = {}
    print(HEAD)
    for crate in crates:
        print(f"- {crate['name']} {crate['version']}: {crate['license']}")
        files = [file for file in Path(crate["manifest_path"]).parent.iterdir() if file.is_file() and TEXTS.match(file.name)]
        for file in sorted(files):
            text = "\n".join(line.rstrip() for line in file.read_text(errors="replace").strip().splitlines())
            users.setdefault(text, []).append(f"{crate['name']} {crate['version']}")
    for text, names in sorted(users.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"\n## {', '.join(sorted(set(names)))}\n\n```text\n{text}\n```")


main()
