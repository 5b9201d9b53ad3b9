package main

import (
	"fmt"
	"testing"
)

// run benchmarks both sides of a pair.
func (p *pair) run(b *testing.B) {
	for name, op := range map[string]operation{"ours": p.ours, "peer": p.peer} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := op(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDirect(b *testing.B) {
	s := &session{}
	defer s.close()
	rig, err := s.rig(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, rows := range []int{1, 50} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			p, err := directPair(b.Context(), rig, rig.pooler.Addr(), rows, pgxBatch)
			if err != nil {
				b.Fatal(err)
			}
			p.run(b)
			if err := p.close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
