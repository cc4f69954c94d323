// What the component answers on the recorded node, by the policy: one of its functions at a time. `devgatectl` must be in the PATH.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const project = join(import.meta.dirname, "..");
const recorded = join(project, "nodes/widget.umockdev");

/** What `devgatectl call` says of one function. */
function call(node, ...words) {
  const place = ["--policy", join(project, "policy.yaml"), "--node-root", node, "--output", "json"];
  const said = spawnSync("devgatectl", ["call", join(project, "widget.wasm"), ...words, ...place], { encoding: "utf8" });
  // What the component said is in the answer.
  assert.equal(said.status, 0, `${said.error ?? said.stderr}${said.stdout}`);
  return JSON.parse(said.stdout);
}

test("health is what the status says", () => {
  const verdicts = (node) => call(node, "health").answer.units.map((unit) => unit.verdict);
  assert.deepEqual(verdicts(recorded), ["healthy", "healthy", "healthy"]);
  // The node, where one card says something else.
  const folder = mkdtempSync(join(tmpdir(), "node-"));
  const node = join(folder, "hot.umockdev");
  writeFileSync(node, readFileSync(recorded, "utf8").replace("A: status=ok", "A: status=hot"));
  assert.equal(verdicts(node).filter((verdict) => verdict === "unhealthy").length, 1);
  rmSync(folder, { recursive: true });
});

test("a container gets its card and the mode", () => {
  const [unit] = call(recorded, "enumerate").answer.pools[0].units;
  const reply = call(recorded, "allocate", unit.id).answer;
  assert.equal(reply.nodes.length, 1);
  assert.equal(reply.env.WIDGET_MODE, "safe");
});
