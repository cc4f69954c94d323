#!/usr/bin/env python3
"""Plays published recordings to the components, and compares what they offer with what count.py expects.

Ends with 1 where a difference has no sentence in differences.txt, or a sentence stands there for what is no difference.
"""

import argparse
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import convert
import count
import recording

HERE = pathlib.Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=pathlib.Path, nargs="+", help="the folder that fetch.py filled, or files")
    parser.add_argument("--devgatectl", default="target/debug/devgatectl")
    parser.add_argument("--components", type=pathlib.Path, default=pathlib.Path("target/components"))
    parser.add_argument("--only", default="*", help="machines of these names")
    parser.add_argument("--classes", default="*", help="classes of these names")
    parser.add_argument("--write", type=pathlib.Path, help="write the table here")
    args = parser.parse_args()
    reasons, rows, wrong = sentences(), [], 0
    for machine, path in machines(args.recordings):
        if not fnmatch.fnmatch(machine, args.only):
            continue
        content = recording.read(path.name, path.read_bytes())
        expected = count.expected(content)
        around = [what for what, devices in count.AROUND.items() if expected[what] or list(devices(content))]
        text, notes = convert.converted(content)
        with tempfile.NamedTemporaryFile("w", suffix=".umockdev") as node:
            node.write(text)
            node.flush()
            for what in fnmatch.filter(around, args.classes):
                units, said = listed(what, node.name, args)
                if not expected[what] and not units:
                    continue
                same = match(expected[what], units)
                reason = reasons.pop((machine, what), None)
                rows.append((machine, what, len(expected[what]), len(units), reason or "", "; ".join(notes)))
                if same == bool(reason):
                    wrong += 1
                    print(f"{machine}, {what}: expected {expected[what]}, found {units}\n    " + "\n    ".join(said))
                    print(f"    differences.txt: {reason or 'has no sentence'}", flush=True)
    if args.only == args.classes == "*" and args.recordings[0].is_dir():
        for machine, what in reasons:
            wrong += 1
            print(f"{machine}, {what}: differences.txt has a sentence, and nothing is expected or found")
    if args.write:
        args.write.write_text(table(rows))
    print(f"{len({row[0] for row in rows})} machines, {len(rows)} counts, {sum(bool(row[4]) for row in rows)} differences")
    sys.exit(1 if wrong else 0)


def machines(recordings):
    """Names and files."""
    for path in recordings:
        if not path.is_dir():
            yield path.name.partition(".")[0], path
            continue
        for line in (HERE / "sources.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                machine, file = line.split()[:2]
                yield machine, path / file


def sentences():
    """The reason of each difference, by machine and class."""
    lines = (HERE / "differences.txt").read_text().splitlines()
    lines = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    return {(machine, what): reason for machine, what, reason in lines}


def listed(what, node, args):
    """The units of a plugin, each as the kernel's names of what it is made of and of its nodes; and what was said."""
    for policy in (HERE / "policies").glob("*.yaml"):
        component = re.search(rf"^  {what}:\n    component: {{file: (.*)}}", policy.read_text(), re.M)
        if component:
            break
    command = [args.devgatectl, "call", args.components / component.group(1), "enumerate"]
    command += ["--policy", policy, "--plugin", what, "--node-root", node, "--output", "json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        answer = json.loads(ended.stdout)
    except ValueError:
        sys.exit(f"{what}: {ended.stderr.decode(errors='replace')}")
    said = [line["text"] for line in answer["said"]] + [answer["error"]] * bool(answer["error"])
    pools = (answer["answer"] or {"pools": [], "rejected": []})["pools"]
    said += [f"rejected: {one['what']}: {one['why']}" for one in (answer["answer"] or {}).get("rejected", [])]
    units = [unit for pool in pools for unit in pool["units"]]
    return [names(unit) for unit in units], said


def names(unit):
    places = unit["backing"] + [node["path"] for node in unit["nodes"]] + list(unit["properties"].values())
    return sorted({place.rsplit("/", 1)[-1] for place in places})


def match(expected, units):
    """Whether each that is expected is one unit, and each unit one that is expected."""
    owners = [[at for at, unit in enumerate(units) if name in unit] for name in expected]
    return len(expected) == len(units) and sorted(owner[:1] for owner in owners) == [[at] for at in range(len(units))]


def table(rows):
    """A line for each machine; `2 of 3` are found where three are expected."""
    published = {}
    for line in (HERE / "sources.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            machine, _, _, licence, source = line.split(maxsplit=4)
            where, _, path = source.partition(":")
            repository, _, commit = where.partition("@")
            url = f"https://github.com/{repository}/blob/{commit}/{path.partition('=')[0]}"
            published[machine] = (f"[{machine}]({url})", licence)
    lines = ["# Results", "", "Written by `play.py --write`; [README.md](README.md) says how to read it.", ""]
    lines += ["| machine | licence | found | why not all | made up |", "| --- | --- | --- | --- | --- |"]
    for machine in dict.fromkeys(row[0] for row in rows):
        of = [row for row in rows if row[0] == machine]
        counts = [f"{what} {found}" + f" of {many}" * (many != found) for _, what, many, found, _, _ in of]
        reasons = [f"{what}: {reason}" for _, what, _, _, reason, _ in of if reason]
        name, licence = published.get(machine, (machine, "Apache-2.0"))
        lines.append(f"| {name} | {licence} | {', '.join(counts)} | {' '.join(reasons)} | {of[0][5]} |")
    machines = len({row[0] for row in rows})
    lines += ["", f"{machines} machines, {len(rows)} counts, {sum(bool(row[4]) for row in rows)} differences."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
