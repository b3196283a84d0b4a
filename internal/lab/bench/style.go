package main

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

var (
	gray     = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	paleGray = color.NRGBA{0xe6, 0xe6, 0xe6, 0xff}
	oursRed  = color.NRGBA{0xd6, 0x1f, 0x26, 0xff}
)

// All ways of using one client have the colour of its family. Dashes and marks distinguish them.
// The colours also differ in lightness, for colour-blind readers.
var families = []struct {
	prefix string
	color  color.NRGBA
}{
	{"go-redis", color.NRGBA{0x1f, 0x66, 0xb0, 0xff}},
	{"rueidis", color.NRGBA{0x1a, 0x92, 0x5e, 0xff}},
	{"radix", color.NRGBA{0xe0, 0x8e, 0x0b, 0xff}},
	{"redigo", color.NRGBA{0x8e, 0x56, 0xb8, 0xff}},
	{"valkey-glide", color.NRGBA{0x7a, 0x5c, 0x3e, 0xff}},
}

// variants are the dashes and marks for the first, second and further ways of using a client.
var variants = []struct {
	dashes []vg.Length
	mark   draw.GlyphDrawer
}{
	{nil, draw.CircleGlyph{}},
	{[]vg.Length{6, 3}, draw.SquareGlyph{}},
	{[]vg.Length{2, 2}, draw.TriangleGlyph{}},
	{[]vg.Length{8, 3, 2, 3}, draw.PyramidGlyph{}},
}

func isOurs(client string) bool {
	d, ok := peer.ByName(client)
	return ok && d.Ours
}

// styled returns the plot of a client's line, with a mark at each point.
func styled(l line) []plot.Plotter {
	stroke := draw.LineStyle{Color: gray, Width: vg.Points(1.3)}
	glyph := draw.GlyphStyle{Color: gray, Radius: vg.Points(2.2), Shape: draw.CrossGlyph{}}
	if isOurs(l.client) {
		stroke.Color, stroke.Width = oursRed, vg.Points(3)
		glyph.Color, glyph.Radius, glyph.Shape = oursRed, vg.Points(3.6), draw.CircleGlyph{}
	}
	for _, f := range families {
		if strings.HasPrefix(l.client, f.prefix) {
			v := variants[variantOf(l.client, f.prefix)%len(variants)]
			stroke.Color, glyph.Color = f.color, f.color
			stroke.Dashes, glyph.Shape = v.dashes, v.mark
		}
	}
	return []plot.Plotter{
		&plotter.Line{XYs: l.points, LineStyle: stroke},
		&plotter.Scatter{XYs: l.points, GlyphStyle: glyph},
	}
}

// variantOf returns the index of a client among those of its family.
func variantOf(client, prefix string) int {
	n := 0
	for _, d := range peer.Drivers() {
		if d.Name == client {
			return n
		}
		if strings.HasPrefix(d.Name, prefix) {
			n++
		}
	}
	return 0
}
