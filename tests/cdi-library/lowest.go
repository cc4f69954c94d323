//go:build !v05

package main

import "tags.cncf.io/container-device-interface/pkg/cdi"

func lowest(spec *cdi.Spec) string {
	version, err := cdi.MinimumRequiredVersion(spec.Spec)
	if err != nil {
		panic(err)
	}
	return version
}
