package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// These are the sizes of a plot, and of the column beside it that holds the legend.
const (
	plotWidth   = 8.4 * vg.Inch
	plotHeight  = 4.4 * vg.Inch
	legendWidth = 1.75 * vg.Inch
)

// chart is a plot with a point for each case and client.
type chart struct {
	file, title, x, y string
	cases             []Case
	at                func(Case) float64
	// value returns y for a client in a case. If it returns false, the point is left out.
	value      func(r *Results, c Case, client string) (float64, bool)
	logX, logY bool
}

func charts() []chart {
	var byCallers, byRate, byIdle []Case
	for _, c := range allCases() {
		switch {
		case c.Kind == openLoop:
			byRate = append(byRate, c)
		case c.Kind == idleConns:
			byIdle = append(byIdle, c)
		case c.ID == fmt.Sprintf("c%d", c.Callers):
			byCallers = append(byCallers, c)
		}
	}
	callersOf := func(c Case) float64 { return float64(c.Callers) }
	return []chart{
		{
			file: "throughput", title: "Throughput, SET and GET of 16 bytes", x: "goroutines", y: "thousand requests per second",
			cases: byCallers, at: callersOf, logX: true,
			value: func(r *Results, c Case, client string) (float64, bool) {
				ns, ok := r.median(c.ID, client, nsPerOp)
				return 1e6 / ns, ok
			},
		}, {
			file: "latency", title: "Latency under offered load, 99th percentile", x: "thousand requests per second offered",
			y: "microseconds", cases: byRate, at: func(c Case) float64 { return float64(c.Rate) / 1000 },
			logX: true, logY: true, value: carried(p99),
		}, {
			file: "latency-p50", title: "Latency under offered load, median", x: "thousand requests per second offered",
			y: "microseconds", cases: byRate, at: func(c Case) float64 { return float64(c.Rate) / 1000 },
			logX: true, logY: true, value: carried(p50),
		}, {
			file: "redis-cpu", title: "Processor time of Redis per request", x: "goroutines", y: "nanoseconds",
			cases: byCallers, at: callersOf, logX: true, logY: true, value: plain(serverCPU),
		}, {
			file: "memory", title: "Memory of idle connections", x: "connections", y: "MiB",
			cases: byIdle, at: callersOf, logX: true, logY: true,
			value: func(r *Results, c Case, client string) (float64, bool) {
				kib, ok := r.median(c.ID, client, bytesPerConn)
				return kib * float64(c.Callers) / 1024, ok && kib > 0
			},
		},
	}
}

func plain(m metric) func(*Results, Case, string) (float64, bool) {
	return func(r *Results, c Case, client string) (float64, bool) { return r.median(c.ID, client, m) }
}

// carried returns a function that returns the latency, unless the client did not keep up with the
// offered load.
func carried(m metric) func(*Results, Case, string) (float64, bool) {
	return func(r *Results, c Case, client string) (float64, bool) {
		if rate, ok := r.median(c.ID, client, achieved); !ok || rate < keepsPace {
			return 0, false
		}
		return r.median(c.ID, client, m)
	}
}

// plots writes the charts for which at least two cases were measured.
func (r report) plots(dir string) error {
	for _, c := range charts() {
		lines := c.lines(r.Results, r.clients(func(x Case) bool {
			return slices.ContainsFunc(c.cases, func(y Case) bool { return x.ID == y.ID })
		}))
		if len(lines) == 0 {
			continue
		}
		svg, err := c.draw(lines)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, c.file+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// line has the points of one client.
type line struct {
	client string
	points plotter.XYs
}

// lines returns the lines with at least two points. The line with the highest end is first, as in
// the legend.
func (c chart) lines(r *Results, clients []string) []line {
	var lines []line
	for _, client := range clients {
		l := line{client: client}
		for _, cs := range c.cases {
			if y, ok := c.value(r, cs, client); ok {
				l.points = append(l.points, plotter.XY{X: c.at(cs), Y: y})
			}
		}
		slices.SortFunc(l.points, func(a, b plotter.XY) int { return int(math.Copysign(1, a.X-b.X)) })
		if len(l.points) > 1 {
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return int(math.Copysign(1, b.points[len(b.points)-1].Y-a.points[len(a.points)-1].Y))
	})
	return lines
}

// draw returns the chart as an SVG, with the legend in a separate column.
func (c chart) draw(lines []line) ([]byte, error) {
	p := plot.New()
	c.axes(p, lines)
	legend := plot.NewLegend()
	legend.TextStyle.Font = sans(9.5)
	legend.Top, legend.Left, legend.ThumbnailWidth, legend.Padding = true, true, vg.Points(22), vg.Points(3)
	for _, ours := range []bool{false, true} { // this library is drawn last, above the others
		for _, l := range lines {
			if isOurs(l.client) == ours {
				p.Add(styled(l)...)
			}
		}
	}
	for _, l := range lines {
		var thumbs []plot.Thumbnailer
		for _, s := range styled(l) {
			thumbs = append(thumbs, s.(plot.Thumbnailer))
		}
		legend.Add(l.client, thumbs...)
	}

	canvas := vgsvg.New(plotWidth, plotHeight)
	whole := draw.New(canvas)
	whole.FillPolygon(color.White, whole.ClipPolygonXY([]vg.Point{
		{X: 0, Y: 0}, {X: plotWidth, Y: 0}, {X: plotWidth, Y: plotHeight}, {X: 0, Y: plotHeight},
	}))
	margin := vg.Points(8)
	p.Draw(draw.Crop(whole, margin, -legendWidth-margin, margin, -margin))
	legend.Draw(draw.Crop(whole, plotWidth-legendWidth, -margin, margin, -vg.Points(38)))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// Readers seldom have the font with which the layout was computed.
	svg := strings.ReplaceAll(out.String(), "font-family:Liberation Sans",
		"font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	return []byte(svg), nil
}

func (c chart) axes(p *plot.Plot, lines []line) {
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = c.title, sans(13), vg.Points(12)
	p.X.Label.Text, p.Y.Label.Text = c.x, c.y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font, a.Padding = sans(10.5), sans(9.5), 0
		a.LineStyle.Color, a.Tick.LineStyle.Color = gray, gray
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = paleGray, paleGray
	p.Add(grid)
	if c.logX {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = caseTicks(lines)
	}
	if c.logY {
		p.Y.Scale = plot.LogScale{}
		p.Y.Tick.Marker = plot.TickerFunc(logTicks)
	} else {
		p.Y.Min = 0
		p.Y.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
			return relabel(plot.DefaultTicks{}.Ticks(low, high))
		})
	}
}

// caseTicks returns ticks at the measured points. A tick has no label if its label would overlap
// another.
func caseTicks(lines []line) plot.ConstantTicks {
	seen := map[float64]bool{}
	var xs []float64
	for _, l := range lines {
		for _, p := range l.points {
			if !seen[p.X] {
				seen[p.X] = true
				xs = append(xs, p.X)
			}
		}
	}
	slices.Sort(xs)
	var ticks plot.ConstantTicks
	for _, x := range xs {
		ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprint(x)})
	}
	return ticks
}

// logTicks returns ticks at 1, 2 and 5 times the powers of ten.
func logTicks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, f := range []float64{1, 2, 5} {
			if v := f * power; v >= low && v <= high {
				ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v)})
			}
		}
	}
	return ticks
}

// relabel formats numbers as in the tables.
func relabel(ticks []plot.Tick) []plot.Tick {
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = tickLabel(t.Value)
		}
	}
	return ticks
}

func tickLabel(v float64) string {
	if v >= 1000 {
		return thousands(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.4g", v)
}

func sans(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}
