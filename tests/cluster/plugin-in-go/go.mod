module example.com/disks

go 1.24
