// Package tests asks the component on the recorded node, by the policy: one of its functions at a time. devgatectl must be in the PATH.
// Go keeps what passed, and does not see what devgatectl reads: run it with -count=1.
package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const recorded = "../nodes/widget.umockdev"

// What devgatectl call says, as far as these tests look at it.
type said struct {
	Answer struct {
		Pools []struct{ Units []struct{ ID string } }
		Units []struct{ Verdict string }
		Nodes []any
		Env   map[string]string
	}
}

func call(t *testing.T, node string, words ...string) said {
	t.Helper()
	arguments := append([]string{"call", "../widget.wasm"}, words...)
	arguments = append(arguments, "--policy", "../policy.yaml", "--node-root", node, "--output", "json")
	output, err := exec.Command("devgatectl", arguments...).Output()
	if err != nil {
		// What the component said is in the answer.
		t.Fatalf("%v\n%s", err, output)
	}
	var result said
	if err := json.Unmarshal(output, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// The node, where the first of these texts is another.
func changed(t *testing.T, old, new string) string {
	t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(t.TempDir(), "changed.umockdev")
	if err := os.WriteFile(node, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return node
}

func healthy(said said) int {
	count := 0
	for _, unit := range said.Answer.Units {
		if unit.Verdict == "healthy" {
			count++
		}
	}
	return count
}

func TestHealthIsWhatTheStatusSays(t *testing.T) {
	if count := healthy(call(t, recorded, "health")); count != 3 {
		t.Errorf("%d of 3 are healthy", count)
	}
	if count := healthy(call(t, changed(t, "A: status=ok", "A: status=hot"), "health")); count != 2 {
		t.Errorf("%d are healthy, and one card is hot", count)
	}
}

func TestAContainerGetsItsCardAndTheMode(t *testing.T) {
	unit := call(t, recorded, "enumerate").Answer.Pools[0].Units[0]
	reply := call(t, recorded, "allocate", unit.ID).Answer
	if len(reply.Nodes) != 1 || reply.Env["WIDGET_MODE"] != "safe" {
		t.Errorf("a container gets %v", reply)
	}
}
