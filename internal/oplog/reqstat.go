package oplog

// WantsReqStat reports whether a logger uses statistics of requests. If the logger has a method
// WantsReqStat() bool, WantsReqStat returns its result. Otherwise it returns false for nil and for
// loggers of the types D and N, and true for others.
func WantsReqStat[D, N any](logger any) bool {
	if chooser, ok := logger.(interface{ WantsReqStat() bool }); ok {
		return chooser.WantsReqStat()
	}
	switch logger.(type) {
	case nil, D, *D, N, *N:
		return false
	}
	return true
}
