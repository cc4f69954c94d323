module devgate.dev/plugin

go 1.25
