package redis

// TransactionResponse takes apart the response of SendTransaction: the results
// of the single requests, or the error for which there are none.
func TransactionResponse(res any) ([]any, error) {
	switch v := res.(type) {
	case []any:
		return v, nil
	case nil:
		return nil, ErrExecEmpty.New("EXEC answered null")
	case error:
		return nil, AsError(v)
	}
	return nil, ErrResponseUnexpected.New("EXEC answered with %T", res).WithProperty(EKResponse, res)
}

// ExecResult returns the result of a transaction of so many requests, given the replies to
// MULTI and EXEC. EXEC decides nothing unless MULTI was accepted: the requests have run one
// by one otherwise. It is for packages redisconn and redisdumb.
func ExecResult(multi, exec any, requests int) any {
	if refused := AsErrorx(multi); refused != nil {
		err := ErrTransaction.Wrap(refused, "MULTI was refused, so that the requests behind it may have run one by one").
			WithProperty(EKRequest, Req("MULTI"))
		if addr, known := refused.Property(EKAddress); known {
			err = err.WithProperty(EKAddress, addr)
		}
		return err
	}
	if multi != any("OK") {
		return ErrTransaction.New("MULTI was answered with a %T that is not OK", multi).WithProperty(EKRequest, Req("MULTI"))
	}
	if results, ok := exec.([]any); ok && len(results) != requests {
		return ErrTransaction.New("EXEC answered with %d results of %d requests", len(results), requests).WithProperty(EKRequest, Req("EXEC"))
	}
	return exec
}
