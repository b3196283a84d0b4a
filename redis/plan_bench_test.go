package redis

import "testing"

// benchUser is a typical struct that services keep in a hash.
type benchUser struct {
	Name  string  `redis:"name"`
	Mail  string  `redis:"mail"`
	Age   int     `redis:"age"`
	Score float64 `redis:"score"`
}

func BenchmarkAsStruct(b *testing.B) {
	res := any(hashOf(Args(benchUser{"a name", "a@b.c", 100, 1.5})))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := As[benchUser](res); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArgsOfStruct(b *testing.B) {
	u := &benchUser{"a name", "a@b.c", 100, 1.5}
	b.ReportAllocs()
	for b.Loop() {
		if args := Args("key", u); len(args) != 9 {
			b.Fatal(args)
		}
	}
}

func BenchmarkAsInt64(b *testing.B) {
	res := any([]byte("123456"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := As[int64](res); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAsMap(b *testing.B) {
	res := any(hashOf(Args(benchUser{"a name", "a@b.c", 100, 1.5})))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := As[map[string]string](res); err != nil {
			b.Fatal(err)
		}
	}
}
