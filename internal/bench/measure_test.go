package main

import (
	"errors"
	"testing"
	"time"
)

// The places are those of the tables that textbooks have for the sign test's interval.
func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, low, high int
		mid          float64
	}{
		{1, 1, 1, 1}, {5, 1, 5, 3}, {6, 1, 6, 3.5}, {10, 2, 9, 5.5}, {15, 4, 12, 8}, {20, 6, 15, 10.5}, {61, 23, 39, 31},
	} {
		samples := make([]float64, tt.n)
		for i := range samples {
			samples[i] = float64((i*7)%tt.n + 1) // in disorder
			if tt.n%7 == 0 {
				samples[i] = float64(i + 1)
			}
		}
		want := interval{tt.mid, float64(tt.low), float64(tt.high)}
		if got := median(samples); got != want {
			t.Errorf("%d samples: %v, want %v", tt.n, got, want)
		}
	}
}

var sink []byte

func TestAllocations(t *testing.T) {
	// Not in parallel: other tests would be counted.
	got, err := allocations(effort{counts: 50}, func() error {
		sink = make([]byte, 4096)
		return nil
	})
	if err != nil || got.objects < 1 || got.objects > 1.2 || got.bytes < 4096 || got.bytes > 4300 {
		t.Errorf("%+v, error %v; want about 1 object of 4096 bytes", got, err)
	}
}

func TestTimeRatio(t *testing.T) {
	t.Parallel()
	nap := func(d time.Duration) operation {
		return func() error {
			time.Sleep(d)
			return nil
		}
	}
	// A sleep may last longer than asked for, but ours is 20 times the peer's.
	got, err := timeRatio(effort{rounds: 7, block: 1}, nap(20*time.Millisecond), nap(time.Millisecond))
	if err != nil || got.low > got.mid || got.mid > got.high || got.mid < 1 {
		t.Errorf("%+v, error %v; want an interval around 20", got, err)
	}
}

func TestAnOperationThatFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	fails := operation(func() error { return broken })
	works := operation(func() error { return nil })
	e := effort{rounds: 3, block: 1, counts: 3}
	_, err := allocations(e, fails)
	if err != broken {
		t.Errorf("allocations: %v", err)
	}
	for name, p := range map[string][2]operation{"ours": {fails, works}, "peer": {works, fails}} {
		if _, err := timeRatio(e, p[0], p[1]); err != broken {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := nanoseconds(e, fails); err != broken {
		t.Errorf("nanoseconds: %v", err)
	}
}
