// What the CNCF's own library makes of CDI files. Each argument is directories, as $PATH has folders, of which later ones win; for each
// there is a line of JSON. No device is injected by it anywhere but into a container that nobody starts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/schema"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

type file struct {
	// What stands in it, as the library read it.
	Content any `json:"content"`
	// The lowest version that has what it uses, where the library can tell.
	Lowest string `json:"lowest"`
	// What the JSON schema finds.
	Schema string `json:"schema"`
}

type told struct {
	// The newest version that the library knows.
	Version string `json:"version"`
	// The devices that a container can have.
	Devices []string `json:"devices"`
	// Those of them that cannot be injected, and why.
	NotInjected map[string]string `json:"not_injected"`
	// Files that are good by themselves.
	Files map[string]file `json:"files"`
	// What is wrong, by file.
	Errors map[string][]string `json:"errors"`
	// What has ended the library, and would end every program with it.
	Panic string `json:"panic"`
}

func look(dirs []string) (told told) {
	told.Version = specs.CurrentVersion
	told.NotInjected, told.Files, told.Errors = map[string]string{}, map[string]file{}, map[string][]string{}
	defer func() {
		if why := recover(); why != nil {
			told.Panic = fmt.Sprint(why)
		}
	}()
	cache := load(dirs)
	told.Devices = cache.ListDevices()
	for path, errors := range cache.GetErrors() {
		for _, err := range errors {
			told.Errors[path] = append(told.Errors[path], err.Error())
		}
	}
	for _, vendor := range cache.ListVendors() {
		for _, spec := range cache.GetVendorSpecs(vendor) {
			found := ""
			if err := schema.BuiltinSchema().ValidateFile(spec.GetPath()); err != nil {
				found = err.Error()
			}
			told.Files[spec.GetPath()] = file{spec.Spec, lowest(spec), found}
		}
	}
	// It writes into what it has read.
	cache = load(dirs)
	for _, name := range told.Devices {
		if _, err := cache.InjectDevices(&oci.Spec{}, name); err != nil {
			told.NotInjected[name] = err.Error()
		}
	}
	return told
}

func load(dirs []string) *cdi.Cache {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(dirs...), cdi.WithAutoRefresh(false))
	if err != nil {
		panic(err)
	}
	return cache
}

func main() {
	for _, dirs := range os.Args[1:] {
		if err := json.NewEncoder(os.Stdout).Encode(look(filepath.SplitList(dirs))); err != nil {
			panic(err)
		}
	}
}
