package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

const (
	// pauseMillis is how long the server keeps its answers back. It is shorter than the shortest
	// default time-out of the clients, a second.
	pauseMillis = 900
	// settle is how long it takes at most until all callers have sent and nothing changes any more.
	settle = 500 * time.Millisecond
)

// inUse returns the memory that the heap and the goroutines' stacks hold.
func inUse() (heap, stack float64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}

// measureIdle opens a client for each connection and uses it once. It counts the connections that
// the server sees, because some clients open more than one.
func (b *bed) measureIdle() (values, error) {
	b.options.Callers = 1
	before, err := b.control.Info()
	if err != nil {
		return nil, err
	}
	heap, stack := inUse()
	clients := make([]peer.Client, 0, b.Case.Callers)
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	for range b.Case.Callers {
		c, err := b.driver.Open(b.options)
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
		if err := c.Set(context.Background(), "bench:0:0", []byte("v")); err != nil {
			return nil, err
		}
	}
	time.Sleep(settle) // some clients open connections in the background
	after, err := b.control.Info()
	if err != nil {
		return nil, err
	}
	heapNow, stackNow := inUse()
	runtime.KeepAlive(clients)
	conns := after.Clients - before.Clients
	if conns <= 0 {
		return nil, fmt.Errorf("the server sees %v connections", conns)
	}
	return values{bytesPerConn: (heapNow - heap + stackNow - stack) / conns / 1024}, nil
}

// measureWaiting makes the server keep back its answers to writes while many callers wait. It
// subtracts the memory of as many goroutines that wait for a channel.
func (b *bed) measureWaiting(c peer.Client) (values, error) {
	value := bytes.Repeat([]byte{'v'}, b.Case.Size)
	if err := c.Set(context.Background(), "bench:0:0", value); err != nil {
		return nil, err
	}
	// This is measured twice, because the runtime keeps ended goroutines for new ones. The first
	// measurement includes creating them.
	var baseHeap, baseStack float64
	for range 2 {
		release := make(chan struct{})
		baseHeap, baseStack, _ = b.park(func(int) error { <-release; return nil }, func() error {
			close(release)
			return nil
		})
	}
	if _, err := b.control.Do(fmt.Sprintf("CLIENT PAUSE %d WRITE", pauseMillis)); err != nil {
		return nil, err
	}
	heap, stack, failed := b.park(func(i int) error {
		return c.Set(context.Background(), fmt.Sprintf("bench:%d:0", i), value)
	}, func() error {
		_, err := b.control.Do("CLIENT UNPAUSE")
		return err
	})
	n := float64(b.Case.Callers)
	return values{
		heapPerCall:  (heap - baseHeap) / n,
		stackPerCall: (stack - baseStack) / n,
		failures:     failed,
	}, nil
}

// park starts the callers, measures the memory that they take, and releases them. It returns that
// memory, and how many callers failed.
func (b *bed) park(call func(int) error, release func() error) (heap, stack, failed float64) {
	heapBefore, stackBefore := inUse()
	var bad atomic.Int64
	var wg sync.WaitGroup
	for i := range b.Case.Callers {
		wg.Go(func() {
			if call(i) != nil {
				bad.Add(1)
			}
		})
	}
	time.Sleep(settle)
	heap, stack = inUse()
	if release() != nil {
		bad.Add(int64(b.Case.Callers))
	}
	wg.Wait()
	return heap - heapBefore, stack - stackBefore, float64(bad.Load())
}
