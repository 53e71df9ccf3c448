package gristmill_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gristmill"
)

func wide(a gristmill.Int128) *big.Int {
	value := new(big.Int).Lsh(big.NewInt(a.High), 64)
	return value.Add(value, new(big.Int).SetUint64(a.Low))
}

func narrow(value *big.Int) gristmill.Int128 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	low := new(big.Int).And(value, mask).Uint64()
	high := new(big.Int).And(new(big.Int).Rsh(value, 64), mask).Uint64()
	return gristmill.Int128{Low: low, High: int64(high)}
}

// numbers of all sizes, the extremes included.
func numbers() []gristmill.Int128 {
	random := rand.New(rand.NewPCG(1, 2))
	all := []gristmill.Int128{{}, {Low: 1}, {Low: math.MaxUint64, High: -1}, {Low: math.MaxUint64, High: math.MaxInt64}, {High: math.MinInt64}}
	for size := range 127 {
		value := new(big.Int).Rsh(wide(gristmill.Int128{Low: random.Uint64(), High: int64(random.Uint64() >> 1)}), uint(size))
		all = append(all, narrow(value), narrow(value.Neg(value)))
	}
	return all
}

func TestInt128Arithmetic(t *testing.T) {
	for _, a := range numbers() {
		for _, b := range numbers() {
			x, y := wide(a), wide(b)
			sum, exact := a.AddExact(b)
			wantSum := new(big.Int).Add(x, y)
			if sum != narrow(wantSum) || exact != (wide(sum).Cmp(wantSum) == 0) {
				t.Fatalf("%v + %v = %v %v", x, y, sum, exact)
			}
			if a.Sub(b) != narrow(new(big.Int).Sub(x, y)) || a.Mul(b) != narrow(new(big.Int).Mul(x, y)) || a.Cmp(b) != x.Cmp(y) {
				t.Fatalf("%v and %v", x, y)
			}
		}
	}
}

func TestInt128Text(t *testing.T) {
	for _, a := range numbers() {
		x := wide(a)
		if a.String() != x.String() || a.Sign() != x.Sign() {
			t.Errorf("%v is %v", x, a)
		}
		digits := len(new(big.Int).Abs(x).String())
		for _, precision := range []int{1, 5, 19, 20, 38} {
			if a.Fits(precision) != (x.Sign() == 0 || digits <= precision) {
				t.Errorf("%v fits %d: %v", x, precision, a.Fits(precision))
			}
		}
		if !a.Fits(38) {
			continue
		}
		for _, scale := range []int{0, 1, 10, 37} {
			text := string(a.AppendDecimal(nil, scale))
			if back, ok := gristmill.ParseDecimal(text, scale); !ok || back != a {
				t.Errorf("%v at scale %d is %s, read as %v %v", x, scale, text, back, ok)
			}
		}
	}
}

func TestDecimalTexts(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 100, "-1.5": -150, "0.05": 5, "007": 700, "1.20": 120} {
		if got, ok := gristmill.ParseDecimal(text, 2); !ok || got != gristmill.ToInt128(want) {
			t.Errorf("%s is %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", ".", "1.", "1.234", "1,5", "+1", " 1", "1 ", "1e3", "--1", "1.2.3",
		"9999999999999999999999999999999999999", "1000000000000000000000000000000000000000"} {
		if got, ok := gristmill.ParseDecimal(text, 2); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	for value, want := range map[int64]string{0: "0.00", 5: "0.05", -150: "-1.50", 123456: "1234.56"} {
		if got := string(gristmill.ToInt128(value).AppendDecimal(nil, 2)); got != want {
			t.Errorf("%d is %s", value, got)
		}
	}
}

func TestInt128ToInt64(t *testing.T) {
	for _, value := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		if back, ok := gristmill.ToInt128(value).Int64(); !ok || back != value {
			t.Errorf("%d is %d %v", value, back, ok)
		}
	}
	for _, value := range []gristmill.Int128{{Low: 1 << 63}, {High: 1}, {Low: 1<<63 - 1, High: -1}} {
		if _, ok := value.Int64(); ok {
			t.Errorf("%v fits", value)
		}
	}
}

func TestInt256(t *testing.T) {
	for _, value := range numbers() {
		if back, ok := gristmill.ToInt256(value).Int128(); !ok || back != value {
			t.Errorf("%v is %v %v", value, back, ok)
		}
	}
	carry := gristmill.Int256{0, 1 << 63, 0, 0}
	if _, ok := carry.Int128(); ok {
		t.Error("2^127 is one more than 128 bits hold")
	}
	if got := carry.String(); got != "0x0000000000000000000000000000000080000000000000000000000000000000" {
		t.Error(got)
	}
}

func TestHalves(t *testing.T) {
	for bits := range 1 << 16 {
		half := gristmill.Half(bits)
		single := half.Float32()
		if math.IsNaN(float64(single)) {
			if !math.IsNaN(float64(gristmill.ToHalf(single).Float32())) {
				t.Errorf("%#x is no NaN any more", bits)
			}
		} else if gristmill.ToHalf(single) != half {
			t.Errorf("%#x became %#x", bits, gristmill.ToHalf(single))
		}
	}
	for single, want := range map[float32]float32{2049: 2048, 2051: 2052, 65519: 65504, 65520: float32(math.Inf(1)), 1e-9: 0} {
		if got := gristmill.ToHalf(single).Float32(); got != want {
			t.Errorf("%v is rounded to %v, not %v", single, got, want)
		}
	}
}
