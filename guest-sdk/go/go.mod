module gristmill

go 1.27
