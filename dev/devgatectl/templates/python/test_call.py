"""What the component answers on the recorded node, by the policy: one of its functions at a time.

python3 -m unittest discover tests, or pytest; `devgatectl` must be in the PATH.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).parent.parent
NODE = PROJECT / "nodes/widget.umockdev"


def call(function, *arguments, node=NODE):
    """What `devgatectl call` says of one function."""
    command = ["devgatectl", "call", PROJECT / "widget.wasm", function, *arguments]
    command += ["--policy", PROJECT / "policy.yaml", "--node-root", node, "--output", "json"]
    said = subprocess.run(command, capture_output=True, text=True)
    # What the component said is in the answer.
    assert said.returncode == 0, said.stderr + said.stdout
    return json.loads(said.stdout)


def changed(folder, old, new):
    """The node, where the first of these texts is another."""
    node = pathlib.Path(folder) / NODE.name
    node.write_text(NODE.read_text().replace(old, new, 1))
    return node


class Call(unittest.TestCase):
    def test_health_is_what_the_status_says(self):
        verdicts = [unit["verdict"] for unit in call("health")["answer"]["units"]]
        self.assertEqual(verdicts, ["healthy"] * 3)
        with tempfile.TemporaryDirectory() as folder:
            units = call("health", node=changed(folder, "A: status=ok", "A: status=hot"))["answer"]["units"]
        self.assertEqual([unit["verdict"] for unit in units].count("unhealthy"), 1)

    def test_a_container_gets_its_card_and_the_mode(self):
        unit = call("enumerate")["answer"]["pools"][0]["units"][0]
        reply = call("allocate", unit["id"])["answer"]
        self.assertEqual(len(reply["nodes"]), 1)
        self.assertEqual(reply["env"]["WIDGET_MODE"], "safe")


if __name__ == "__main__":
    unittest.main()
