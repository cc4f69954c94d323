//go:build optional

// What the widget in Go may export besides: a package for each interface.
package main

import (
	"slices"

	"devgate.dev/plugin"
	"devgate.dev/plugin/conditions"
	"devgate.dev/plugin/lifecycle"
	"devgate.dev/plugin/parameters"
	"devgate.dev/plugin/preference"
)

func init() {
	preference.Export(choose)
	lifecycle.Export(prepare, release)
	parameters.Export(allocateWith)
	conditions.Export(examine)
}

// What must be taken, then the last ones of the list.
func choose(_ string, available []plugin.Unit, mustInclude []string, size uint32) ([]string, error) {
	chosen := slices.Clone(mustInclude)
	for _, unit := range slices.Backward(available) {
		if len(chosen) < int(size) && !slices.Contains(mustInclude, unit.Id) {
			chosen = append(chosen, unit.Id)
		}
	}
	return chosen, nil
}

// A widget that is not well now may be, the next time.
func prepare(_ string, units []plugin.Unit) error {
	for _, unit := range units {
		reads, err := status(unit)
		if err != nil {
			return err
		}
		if reads != "ok" {
			return plugin.Failed(plugin.Busy, unit.Id+" is "+reads)
		}
	}
	return nil
}

func release(_ string, units []plugin.Unit) error {
	for _, unit := range units {
		plugin.Warn(unit.Id + " is released")
	}
	return nil
}

// The first that says a mode is heard, and no claim gets what its class does not leave to it.
func allocateWith(_ string, _ []plugin.Unit, settings []parameters.Setting) (plugin.Edits, error) {
	var heard *string
	for _, setting := range settings {
		var says struct{ Mode *string }
		if err := setting.Decode(&says); err != nil {
			return plugin.Edits{}, err
		}
		if says.Mode != nil && *says.Mode != "fast" && *says.Mode != "safe" {
			return plugin.Edits{}, plugin.Failed(plugin.Invalid, "mode is neither fast nor safe")
		}
		if heard == nil {
			heard = says.Mode
		}
	}
	given, err := mode()
	if heard != nil {
		given = *heard
	}
	return plugin.Edits{Env: []plugin.Property{{Name: "WIDGET_MODE", Value: given}}}, err
}

// A widget that is not well gets no new claim, and old firmware is said.
func examine(_ string, units []plugin.Unit) ([][]conditions.Condition, error) {
	var all [][]conditions.Condition
	for _, unit := range units {
		reads, err := status(unit)
		if err != nil {
			return nil, err
		}
		var found []conditions.Condition
		if reads != "ok" {
			found = append(found, conditions.Condition{
				Key: "not-well", Effect: conditions.EffectNoNew, Message: "status reads " + reads,
			})
		}
		if slices.Contains(unit.Properties, plugin.Property{Name: "firmware", Value: "2.4.0"}) {
			found = append(found, conditions.Condition{
				Key: "old-firmware", Effect: conditions.EffectInform, Message: "2.4.1 is there",
			})
		}
		all = append(all, found)
	}
	return all, nil
}

// What the status of the widget beneath a unit's card reads.
func status(unit plugin.Unit) (string, error) {
	widgets, err := plugin.Ask(unit.Backing[0].Children("widget"))
	if err != nil {
		return "", err
	}
	if len(widgets) == 0 {
		return "", plugin.Failed(plugin.Gone, unit.Id+": its driver does not know it any more")
	}
	return plugin.Ask(widgets[0].Attribute("status"))
}
