// Command {{name}} is a Gristmill transform: `gristmill transform build .` makes the component.
package main

import "gristmill"

func init() { gristmill.Export(plan) }

func main() {}
