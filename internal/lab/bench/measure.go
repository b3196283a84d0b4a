package main

import (
	"runtime"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/hist"
	"github.com/joomcode/redispipe/internal/lab/bench/lab"
)

// meter reads all counters before and after a measurement.
type meter struct {
	control *lab.Control
	servers int

	begin  time.Time
	cpu    time.Duration
	memory runtime.MemStats
	info   lab.Info
}

func (b *bed) meter() *meter { return &meter{control: b.control, servers: len(b.Servers)} }

// start begins a measurement with a collected heap, so that no client pays for the garbage of an
// earlier phase.
func (m *meter) start() error {
	runtime.GC()
	var err error
	if m.info, err = m.control.Info(); err != nil {
		return err
	}
	runtime.ReadMemStats(&m.memory)
	m.cpu = processCPU()
	m.begin = time.Now()
	return nil
}

// stop returns the cost of the ops requests since start.
func (m *meter) stop(ops float64) (values, error) {
	elapsed := time.Since(m.begin)
	cpu := processCPU() - m.cpu
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	info, err := m.control.Info()
	if err != nil {
		return nil, err
	}
	delta := info.Sub(m.info, m.servers)
	v := values{
		nsPerOp:     float64(elapsed) / ops,
		clientCPU:   float64(cpu) / ops,
		serverCPU:   float64(delta.CPU) / ops,
		bytesPerOp:  float64(memory.TotalAlloc-m.memory.TotalAlloc) / ops,
		allocsPerOp: float64(memory.Mallocs-m.memory.Mallocs) / ops,
	}
	if delta.Reads > 0 {
		v[opsPerRead] = delta.Commands / delta.Reads
	}
	return v, nil
}

// latencies adds the quantiles of h.
func (v values) latencies(h *hist.Hist) {
	if h.Total() == 0 {
		return
	}
	for m, q := range map[metric]float64{p50: 0.5, p99: 0.99, p999: 0.999} {
		v[m] = float64(h.Quantile(q)) / float64(time.Microsecond)
	}
}
