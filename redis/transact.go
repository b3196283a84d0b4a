package redis

import "github.com/joomcode/redispipe/internal/errs"

// TransactionResponse takes apart the response of SendTransaction: the results
// of the single requests, or the error for which there are none.
func TransactionResponse(res any) ([]any, error) {
	switch v := res.(type) {
	case []any:
		return v, nil
	case nil:
		return nil, errs.ErrExecEmpty.New("EXEC answered null")
	case error:
		return nil, errs.AsError(v)
	}
	return nil, errs.ErrResponseUnexpected.New("EXEC answered with %T", res).WithProperty(errs.EKResponse, res)
}

// ExecResult returns the result of a transaction of so many requests, given the replies to
// MULTI and EXEC. If MULTI was not accepted, the requests have run one by one, whatever
// EXEC answered. ExecResult is for packages redisconn and redisdumb.
func ExecResult(multi, exec any, requests int) any {
	if refused := errs.AsErrorx(multi); refused != nil {
		err := errs.ErrTransaction.Wrap(refused, "MULTI was refused, so that the requests behind it may have run one by one").
			WithProperty(errs.EKRequest, Req("MULTI"))
		if addr, known := refused.Property(errs.EKAddress); known {
			err = err.WithProperty(errs.EKAddress, addr)
		}
		return err
	}
	if multi != any("OK") {
		return errs.ErrTransaction.New("MULTI was answered with a %T that is not OK", multi).WithProperty(errs.EKRequest, Req("MULTI"))
	}
	if results, ok := exec.([]any); ok && len(results) != requests {
		return errs.ErrTransaction.New("EXEC answered with %d results of %d requests", len(results), requests).WithProperty(errs.EKRequest, Req("EXEC"))
	}
	return exec
}

// transacted is for Transact.
func transacted(results []any, err error) ([]any, error) {
	if err != nil {
		return nil, errs.Err(errs.Plain(err))
	}
	return results, FirstError(results)
}
