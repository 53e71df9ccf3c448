// Command web-log is a Gristmill transform that makes typed requests of the lines of web servers' access logs.
package main

import "gristmill"

func init() { gristmill.Export(plan) }

func main() {}
