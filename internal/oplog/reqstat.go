package oplog

// WantsReqStat reports whether a logger uses statistics of requests. It calls the logger's method
// WantsReqStat() bool, if there is one. Without that method, every logger uses statistics, except
// nil and loggers of the types D and N.
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
