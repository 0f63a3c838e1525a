void 0 // the bare runtime: nothing is done
