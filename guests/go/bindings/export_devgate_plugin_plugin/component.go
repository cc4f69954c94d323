// Package export_devgate_plugin_plugin is what the generated exports call: the component that was given to plugin.Export.
package export_devgate_plugin_plugin

import (
	types "devgate.dev/plugin/bindings/devgate_plugin_types"
	wit "devgate.dev/plugin/wit/types"
)

// What the exports do; package plugin sets them before the host can call.
var (
	OnEnumerate func() ([]types.Pool, *types.Error)
	OnHealth    func(resource string, units []types.Unit) ([]types.Verdict, *types.Error)
	OnAllocate  func(resource string, units []types.Unit) (types.Edits, *types.Error)
)

func Enumerate() wit.Result[[]types.Pool, types.Error] {
	return answer(OnEnumerate())
}

func Health(resource string, units []types.Unit) wit.Result[[]types.Verdict, types.Error] {
	return answer(OnHealth(resource, units))
}

func Allocate(resource string, units []types.Unit) wit.Result[types.Edits, types.Error] {
	return answer(OnAllocate(resource, units))
}

func answer[T any](value T, failed *types.Error) wit.Result[T, types.Error] {
	if failed != nil {
		return wit.Err[T, types.Error](*failed)
	}
	return wit.Ok[T, types.Error](value)
}
