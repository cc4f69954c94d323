// Package plugin is what a component in Go is written with: the contract under short names, with errors as Go has them.
//
//	package main
//
//	import "devgate.dev/plugin"
//
//	func init() { plugin.Export(gpu{}) }
//	func main() {} // never called: the host calls what is exported
//
// The packages in bindings have everything else of the contract; Ask makes a value and an error of what they give.
package plugin

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"devgate.dev/plugin/bindings/devgate_plugin_config"
	"devgate.dev/plugin/bindings/devgate_plugin_hardware"
	"devgate.dev/plugin/bindings/devgate_plugin_log"
	types "devgate.dev/plugin/bindings/devgate_plugin_types"
	exports "devgate.dev/plugin/bindings/export_devgate_plugin_plugin"
	_ "devgate.dev/plugin/bindings/wit_exports"
	wit "devgate.dev/plugin/wit/types"
)

// The words of the contract.
type (
	Device      = types.Device
	Node        = types.Node
	MountSource = types.MountSource
	Property    = types.Property
	Unit        = types.Unit
	Pool        = types.Pool
	Verdict     = types.Verdict
	Edits       = types.Edits
)

// Component is what every component does. Each call runs in a fresh instance: nothing that is kept in it lasts.
//
// An error that is no *Error, and a panic with its place, are told to the host as they read.
type Component interface {
	// Enumerate gives everything that there is now, without its health.
	Enumerate() ([]Pool, error)
	// Health gives one verdict for each unit, in the same order.
	Health(resource string, units []Unit) ([]Verdict, error)
	// Allocate gives what a container needs to use these units, besides their nodes.
	Allocate(resource string, units []Unit) (Edits, error)
}

// Error is why something failed: what the host refused, or what the component reports.
type Error types.Error

// Error is its message, for people.
func (e *Error) Error() string { return e.Message }

// NotGranted is what the host answers for an interface that the policy does not grant and the component can do without (devgatectl pack
// --optional): errors.Is(err, plugin.NotGranted).
var NotGranted error = &Error{Kind: Denied, Code: "not-granted", Message: "not granted by the policy"}

// Is tells NotGranted from what else the policy denies.
func (e *Error) Is(target error) bool {
	return target == NotGranted && e.Kind == Denied && e.Code == "not-granted"
}

// Failed is an error of the component's own; kind is one of Denied to Other.
func Failed(kind types.ErrorKind, message string) error {
	return &Error{Kind: kind, Message: message}
}

// Kinds of failure.
const (
	Denied      = types.ErrorKindDenied
	NotFound    = types.ErrorKindNotFound
	Gone        = types.ErrorKindGone
	Invalid     = types.ErrorKindInvalid
	Io          = types.ErrorKindIo
	Limit       = types.ErrorKindLimit
	Busy        = types.ErrorKindBusy
	Unsupported = types.ErrorKindUnsupported
	Other       = types.ErrorKindOther
)

// Ask makes a value and an error of what the host answers: Ask(device.Attribute("serial")).
func Ask[T any](answer wit.Result[T, types.Error]) (T, error) {
	if answer.IsErr() {
		var nothing T
		failed := Error(answer.Err())
		return nothing, &failed
	}
	return answer.Ok(), nil
}

// Devices gives all granted devices of one subsystem. Needs the capability hardware.
func Devices(subsystem string) ([]*Device, error) {
	return Ask(devgate_plugin_hardware.Devices(subsystem))
}

// Config gives what the policy has under config, as JSON.
func Config() string { return devgate_plugin_config.Json() }

// Warn says a line to the admin.
func Warn(line string) { devgate_plugin_log.Write(devgate_plugin_log.LevelWarn, line) }

// Info says a line to the admin, where they want to know more.
func Info(line string) { devgate_plugin_log.Write(devgate_plugin_log.LevelInfo, line) }

// Unread gives a pool's property that names devices which are there and cannot be described now: as many as it holds, 4,096 bytes.
func Unread(names []string) Property {
	var kept strings.Builder
	for _, name := range names {
		if kept.Len()+1+len(name) > 4096 {
			break
		}
		if kept.Len() > 0 {
			kept.WriteByte(' ')
		}
		kept.WriteString(name)
	}
	return Property{Name: "devgate.unread", Value: kept.String()}
}

// Healthy says that a unit may be handed out.
func Healthy() Verdict { return types.MakeVerdictHealthy() }

// Unhealthy says that a unit must not be handed out, and why; at most 256 bytes.
func Unhealthy(reason string) Verdict { return types.MakeVerdictUnhealthy(reason) }

// Unknown says why a unit's health could not be told: its last verdict stands.
func Unknown(why string) Verdict { return types.MakeVerdictUnknown(why) }

// Export makes a component what the host calls. Call it in an init function. What a component exports besides has packages of its own:
// preference, lifecycle, parameters and conditions.
func Export(component Component) {
	exports.Enumerate = func() wit.Result[[]Pool, types.Error] {
		return Answer(component.Enumerate)
	}
	exports.Health = func(resource string, units []Unit) wit.Result[[]Verdict, types.Error] {
		return Answer(func() ([]Verdict, error) { return component.Health(resource, units) })
	}
	exports.Allocate = func(resource string, units []Unit) wit.Result[Edits, types.Error] {
		return Answer(func() (Edits, error) { return component.Allocate(resource, units) })
	}
}

// Answer is what the host gets of a call, for the packages that export: the opposite of Ask. Errors and panics are made the contract's;
// what is not caught ends the call as a crash, without a word of why.
func Answer[T any](call func() (T, error)) (answer wit.Result[T, types.Error]) {
	defer func() {
		if mistake := recover(); mistake != nil {
			answer = wit.Err[T](types.Error{Kind: Other, Message: fmt.Sprint("panic: ", mistake, place())})
		}
	}()
	value, err := call()
	if err == nil {
		return wit.Ok[T, types.Error](value)
	}
	var own *Error
	if errors.As(err, &own) {
		// What was said around it stays.
		return wit.Err[T](types.Error{Kind: own.Kind, Code: own.Code, Message: err.Error()})
	}
	return wit.Err[T](types.Error{Kind: Other, Message: err.Error()})
}

// The most functions that a panic is told with.
const mostPlaces = 5

// place is where the panic comes from that is being recovered, for the vendor, innermost first: " at widget.go:42 < widget.go:30".
func place() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	var places []string
	for raised, more := false, true; more && len(places) < mostPlaces; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			raised = true
		case strings.HasPrefix(frame.Function, "devgate.dev/plugin"):
			// What called the component, or is called by it: the lines are its own.
			more = more && len(places) == 0
		case raised && !strings.HasPrefix(frame.Function, "runtime."):
			places = append(places, fmt.Sprintf("%s:%d", relative(frame.File), frame.Line))
		}
	}
	if len(places) == 0 {
		return ""
	}
	return " at " + strings.Join(places, " < ")
}

// relative leaves the folders of the machine out that built it; with -trimpath there are none.
func relative(file string) string {
	if strings.HasPrefix(file, "/") || strings.Contains(file, ":") {
		return file[strings.LastIndexByte(file, '/')+1:]
	}
	return file
}
