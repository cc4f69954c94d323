// Package export_devgate_plugin_plugin is what the generated exports call: the component that was given to plugin.Export.
package export_devgate_plugin_plugin

import (
	types "devgate.dev/plugin/bindings/devgate_plugin_types"
	wit "devgate.dev/plugin/wit/types"
)

// What the exports do; package plugin sets them before the host can call.
var (
	Enumerate func() wit.Result[[]types.Pool, types.Error]
	Health    func(resource string, units []types.Unit) wit.Result[[]types.Verdict, types.Error]
	Allocate  func(resource string, units []types.Unit) wit.Result[types.Edits, types.Error]
)
