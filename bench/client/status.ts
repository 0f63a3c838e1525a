// a command line as an executable is written: what needs nothing loaded is answered first
await import("../../examples/minimal/src/cli.ts")
