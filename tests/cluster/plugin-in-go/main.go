// Disks is a device plugin as other projects have them: it knows the kubelet's API alone, v1beta1 over a Unix socket, and remembers nothing.
// It is written with Go's own library, so that nothing is fetched to build it.
//
//	disks -resource example.com/disk [-ids PREFIX] loop8 loop9 …
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	directory = "/var/lib/kubelet/device-plugins"
	endpoint  = "disks-in-go.sock"
)

// plugin is the one resource that it serves.
type plugin struct {
	resource, prefix string
	disks            []string
}

func main() {
	var p plugin
	flag.StringVar(&p.resource, "resource", "example.com/disk", "what pods ask for")
	flag.StringVar(&p.prefix, "ids", "", "what stands before a disk's name in its id")
	flag.Parse()
	p.disks = flag.Args()
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	socket := filepath.Join(directory, endpoint)
	// The kubelet empties the directory when it starts: so the socket is made again, and it is told again.
	for ended.Err() == nil {
		if err := p.serve(ended, socket); err != nil {
			log.Print(err)
		}
		select {
		case <-ended.Done():
		case <-time.After(time.Second):
		}
	}
	os.Remove(socket)
}

// serve comes back when the socket is gone, or at the end.
func (p *plugin) serve(ended context.Context, socket string) error {
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	streams, end := context.WithCancel(ended)
	defer end()
	server := http.Server{
		Handler:     p.handler(),
		Protocols:   &protocols,
		BaseContext: func(net.Listener) context.Context { return streams },
	}
	defer server.Close()
	go server.Serve(listener)
	if err := register(filepath.Join(directory, "kubelet.sock"), endpoint, p.resource); err != nil {
		return err
	}
	log.Printf("registered %s with %d disks", p.resource, len(p.disks))
	for {
		select {
		case <-ended.Done():
			return nil
		case <-time.After(time.Second):
			if _, err := os.Stat(socket); err != nil {
				return err
			}
		}
	}
}
