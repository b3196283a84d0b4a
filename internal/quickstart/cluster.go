package main

import (
	"context"
	"errors"
	"time"
)

func runCluster(ctx context.Context, d time.Duration) error { return errors.New("no cluster yet") }
