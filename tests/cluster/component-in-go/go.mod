module example.com/disks

go 1.25

require devgate.dev/plugin v0.0.0

replace devgate.dev/plugin => ../../../guests/go
