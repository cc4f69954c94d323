// Offers the node's disks that the policy grants, as a vendor's component in Go would.
package main

import "devgate.dev/plugin"

const resource = "example.com/disk"

type disks struct{}

func init() { plugin.Export(disks{}) }

// Never called: the host calls what is exported.
func main() {}

func (disks) Enumerate() ([]plugin.Pool, error) {
	granted, err := plugin.Devices("block")
	if err != nil {
		return nil, err
	}
	pool := plugin.Pool{Resource: resource}
	for _, disk := range granted {
		nodes, err := plugin.Ask(disk.Nodes())
		if err != nil {
			return nil, err
		}
		pool.Units = append(pool.Units, plugin.Unit{Id: disk.Name(), Backing: []*plugin.Device{disk}, Nodes: nodes})
	}
	return []plugin.Pool{pool}, nil
}

// A disk that is there is well; of one that is gone the host itself knows.
func (disks) Health(_ string, units []plugin.Unit) ([]plugin.Verdict, error) {
	verdicts := make([]plugin.Verdict, len(units))
	for n := range verdicts {
		verdicts[n] = plugin.Healthy()
	}
	return verdicts, nil
}

func (disks) Allocate(string, []plugin.Unit) (plugin.Edits, error) {
	return plugin.Edits{Env: []plugin.Property{{Name: "DISKS_FROM", Value: "go"}}}, nil
}
