// Package parameters exports the optional interface of that name: importing it is what exports it.
package parameters

import (
	"encoding/json"
	"io"
	"strings"

	"devgate.dev/plugin"
	wit "devgate.dev/plugin/wit/types"
)

var allocateWith func(resource string, units []Unit, settings []Setting) (Edits, error)

// Export sets what is called instead of Allocate where a claim or its class has parameters; those of classes come first, each later one
// for what the ones before it leave open. Call it in an init function.
func Export(function func(resource string, units []plugin.Unit, settings []Setting) (plugin.Edits, error)) {
	allocateWith = function
}

// Decode reads a setting into a struct, as encoding/json does. What that has no field for is an error: a pod must not start with
// something else than it asked for.
func (s Setting) Decode(into any) error {
	whose := "the class"
	if s.Origin == OriginClaim {
		whose = "the claim"
	}
	// The decoder calls itself for each bracket, and a component's stack is small.
	brackets := strings.Count(s.Json, "[") + strings.Count(s.Json, "{")
	if !strings.HasPrefix(strings.TrimLeft(s.Json, " \t\r\n"), "{") || brackets > 1000 {
		return plugin.Failed(plugin.Invalid, whose+": is not a mapping, or one too deep")
	}
	decoder := json.NewDecoder(strings.NewReader(s.Json))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return plugin.Failed(plugin.Invalid, whose+": "+err.Error())
	}
	if _, err := decoder.Token(); err != io.EOF {
		return plugin.Failed(plugin.Invalid, whose+": is not a mapping")
	}
	return nil
}

func onAllocateWith(resource string, units []Unit, settings []Setting) wit.Result[Edits, Error] {
	return plugin.Answer(func() (Edits, error) { return allocateWith(resource, units, settings) })
}
