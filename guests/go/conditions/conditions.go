// Package conditions exports the optional interface of that name: importing it is what exports it.
package conditions

import (
	"devgate.dev/plugin"
	wit "devgate.dev/plugin/wit/types"
)

var examine func(resource string, units []Unit) ([][]Condition, error)

// Export sets what tells what is not as it should be with units that work: a list for each unit, in their order, most of them empty.
// Call it in an init function.
func Export(function func(resource string, units []plugin.Unit) ([][]Condition, error)) {
	examine = function
}

func onExamine(resource string, units []Unit) wit.Result[[][]Condition, Error] {
	return plugin.Answer(func() ([][]Condition, error) { return examine(resource, units) })
}
