// Package lifecycle exports the optional interface of that name: importing it is what exports it.
package lifecycle

import (
	"devgate.dev/plugin"
	wit "devgate.dev/plugin/wit/types"
)

var prepare, release func(resource string, units []Unit) error

// Export sets what is done before units are given to a container, and when no pod holds them any more. Call it in an init function.
func Export(toPrepare, toRelease func(resource string, units []plugin.Unit) error) {
	prepare, release = toPrepare, toRelease
}

func onPrepare(resource string, units []Unit) wit.Result[wit.Unit, Error] {
	return plugin.Answer(func() (wit.Unit, error) { return wit.Unit{}, prepare(resource, units) })
}

func onRelease(resource string, units []Unit) wit.Result[wit.Unit, Error] {
	return plugin.Answer(func() (wit.Unit, error) { return wit.Unit{}, release(resource, units) })
}
