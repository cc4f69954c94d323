// Package preference exports the optional interface of that name: importing it is what exports it.
package preference

import (
	"devgate.dev/plugin"
	wit "devgate.dev/plugin/wit/types"
)

var choose func(resource string, available []Unit, mustInclude []string, size uint32) ([]string, error)

// Export sets what chooses size ids out of available, among them all of mustInclude, best first. Call it in an init function.
func Export(function func(resource string, available []plugin.Unit, mustInclude []string, size uint32) ([]string, error)) {
	choose = function
}

func onChoose(resource string, available []Unit, mustInclude []string, size uint32) wit.Result[[]string, Error] {
	return plugin.Answer(func() ([]string, error) { return choose(resource, available, mustInclude, size) })
}
