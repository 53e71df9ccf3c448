module web-log

go 1.27

require gristmill v0.1.0

replace gristmill => ../../../guest-sdk/go
