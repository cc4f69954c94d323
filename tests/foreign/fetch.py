#!/usr/bin/env python3
"""Brings the recordings that sources.txt names into a folder, each with the digest that stands there: fetch.py FOLDER [--clones DIR].

With git, as partial clones in FOLDER/.clones; or from clones that are there as DIR/OWNER/NAME, without a network.
"""

import argparse
import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--clones", type=pathlib.Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for line in (HERE / "sources.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        _, file, digest, _, source = line.split(maxsplit=4)
        to = args.folder / file
        if not to.exists():
            to.write_bytes(content(source, args))
        if hashlib.sha256(to.read_bytes()).hexdigest() != digest:
            print(f"{to}: has another digest than sources.txt; remove it", file=sys.stderr)
            wrong += 1
    sys.exit(1 if wrong else 0)


def content(source, args):
    """Of OWNER/NAME@COMMIT:PATH the file; of OWNER/NAME@COMMIT:PATH=PLACE the folder as an archive in which it stands at the place."""
    where, _, path = source.partition(":")
    repository, _, commit = where.partition("@")
    clone = args.clones / repository if args.clones else cloned(args.folder / ".clones" / repository, repository, commit)
    path, _, place = path.partition("=")
    if place:
        return archive(git(clone, "archive", "--format=tar", f"{commit}:{path}"), place)
    return git(clone, "show", f"{commit}:{path}")


def cloned(clone, repository, commit):
    """A clone that has the commit, and of its files what is asked for."""
    if not clone.exists():
        clone.mkdir(parents=True)
        git(clone, "init", "--quiet", "--bare")
        git(clone, "remote", "add", "origin", f"https://github.com/{repository}")
        git(clone, "config", "remote.origin.promisor", "true")
        git(clone, "config", "remote.origin.partialclonefilter", "blob:none")
    git(clone, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit)
    return clone


def git(clone, *args):
    return subprocess.run(["git", "-C", clone, *args], stdout=subprocess.PIPE, check=True).stdout


def archive(folder, place):
    """The same bytes each time: sorted, of nobody, of no time."""
    made = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(folder)) as source, tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as to:
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            if member.isfile():
                entry = tarfile.TarInfo(f"{place}/{member.name}")
                entry.size = member.size
                to.addfile(entry, source.extractfile(member))
    return made.getvalue()


if __name__ == "__main__":
    main()
