package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

const api = "/v1beta1."

// handler answers the kubelet's calls.
func (p *plugin) handler() http.Handler {
	calls := http.NewServeMux()
	calls.HandleFunc(api+"DevicePlugin/GetDevicePluginOptions", func(w http.ResponseWriter, r *http.Request) {
		// No option: neither a preference nor a call before a container's start.
		answer(w, nil)
	})
	calls.HandleFunc(api+"DevicePlugin/ListAndWatch", func(w http.ResponseWriter, r *http.Request) {
		var list []byte
		for _, disk := range p.disks {
			list = append(list, field(1, field(1, []byte(p.prefix+disk)), field(2, []byte("Healthy")))...)
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Write(framed(list))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	calls.HandleFunc(api+"DevicePlugin/Allocate", func(w http.ResponseWriter, r *http.Request) {
		request, err := message(r.Body)
		if err != nil {
			refuse(w, err)
			return
		}
		var containers []byte
		for _, container := range fields(request, 1) {
			var devices []byte
			for _, id := range fields(container, 1) {
				disk := strings.TrimPrefix(string(id), p.prefix)
				if !slices.Contains(p.disks, disk) {
					refuse(w, fmt.Errorf("there is no %q", id))
					return
				}
				node := []byte("/dev/" + disk)
				devices = append(devices, field(3, field(1, node), field(2, node), field(3, []byte("rw")))...)
			}
			containers = append(containers, field(1, devices)...)
		}
		answer(w, containers)
	})
	return calls
}

// register tells the kubelet where the plugin listens.
func register(kubelet, endpoint, resource string) error {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		Protocols: &protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", kubelet)
		},
	}
	defer transport.CloseIdleConnections()
	request := slices.Concat(field(1, []byte("v1beta1")), field(2, []byte(endpoint)), field(3, []byte(resource)))
	call, err := http.NewRequest("POST", "http://kubelet"+api+"Registration/Register", bytes.NewReader(framed(request)))
	if err != nil {
		return err
	}
	call.Header.Set("Content-Type", "application/grpc")
	call.Header.Set("TE", "trailers")
	response, err := (&http.Client{Transport: transport}).Do(call)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// The status comes after the message; without one it is among the headers.
	_, err = message(response.Body)
	status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
	if status != "0" {
		return fmt.Errorf("the kubelet answers with status %q: %s (%v)", status, response.Trailer.Get("Grpc-Message"), err)
	}
	return nil
}
