// Offers widgets: PCI functions of the vendor's, each with one device of the class `widget` beneath it.
package main

import (
	"encoding/json"

	"devgate.dev/plugin"
)

const resource = "example.com/widget"

// The exports. Each call runs in a fresh instance: nothing that is kept here lasts.
type widget struct{}

func init() { plugin.Export(widget{}) }

// Never called: the host calls what is exported.
func main() {}

func (widget) Enumerate() ([]plugin.Pool, error) {
	if _, err := mode(); err != nil {
		return nil, err
	}
	cards, err := plugin.Devices("pci")
	if err != nil {
		return nil, err
	}
	pool := plugin.Pool{Resource: resource}
	var unread []string
	for _, card := range cards {
		name := card.Name()
		unit, err := described(card, name)
		if err != nil {
			plugin.Warn(name + " is not offered: " + err.Error())
			unread = append(unread, name)
			continue
		}
		pool.Units = append(pool.Units, unit)
	}
	if len(unread) > 0 {
		pool.Properties = []plugin.Property{plugin.Unread(unread)}
	}
	return []plugin.Pool{pool}, nil
}

func (widget) Health(_ string, units []plugin.Unit) ([]plugin.Verdict, error) {
	var verdicts []plugin.Verdict
	for _, unit := range units {
		verdicts = append(verdicts, verdict(unit))
	}
	return verdicts, nil
}

func (widget) Allocate(string, []plugin.Unit) (plugin.Edits, error) {
	given, err := mode()
	return plugin.Edits{Env: []plugin.Property{{Name: "WIDGET_MODE", Value: given}}}, err
}

// The mode that containers are told, from the policy's `config`.
func mode() (string, error) {
	var config map[string]any
	if json.Unmarshal([]byte(plugin.Config()), &config) != nil {
		return "", plugin.Failed(plugin.Invalid, "config: is not a mapping")
	}
	given, there := config["mode"]
	switch {
	case !there:
		return "fast", nil
	case given == "fast" || given == "safe":
		return given.(string), nil
	}
	return "", plugin.Failed(plugin.Invalid, "config: mode is neither fast nor safe")
}

// A card whose driver has registered it; fails with NotFound where it has not.
func described(card *plugin.Device, name string) (plugin.Unit, error) {
	var unit plugin.Unit
	widgets, err := plugin.Ask(card.Children("widget"))
	if err != nil {
		return unit, err
	}
	if len(widgets) == 0 {
		return unit, plugin.Failed(plugin.NotFound, "its driver has not registered it")
	}
	serial, err := plugin.Ask(widgets[0].Attribute("serial"))
	if err != nil {
		return unit, err
	}
	firmware, err := plugin.Ask(widgets[0].Attribute("firmware"))
	if err != nil {
		return unit, err
	}
	nodes, err := plugin.Ask(widgets[0].Nodes())
	return plugin.Unit{
		Id:      serial,
		Backing: []*plugin.Device{card},
		Nodes:   nodes,
		Properties: []plugin.Property{
			{Name: "serial", Value: serial},
			{Name: "firmware", Value: firmware},
			{Name: "pci", Value: name},
		},
	}, err
}

// What the driver says of one widget.
func verdict(unit plugin.Unit) plugin.Verdict {
	widgets, err := plugin.Ask(unit.Backing[0].Children("widget"))
	if err != nil {
		return plugin.Unknown(err.Error())
	}
	if len(widgets) == 0 {
		return plugin.Unhealthy("its driver does not know it any more")
	}
	status, err := plugin.Ask(widgets[0].Attribute("status"))
	if err != nil {
		return plugin.Unknown(err.Error())
	}
	if status != "ok" {
		return plugin.Unhealthy("status reads " + status)
	}
	return plugin.Healthy()
}
