package gristmill

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Half is a half-precision float, as its bits.
type Half uint16

// Float32 is the same number. Every half is also a single.
func (f Half) Float32() float32 {
	sign := float32(1)
	if f>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(f>>10&0x1f), float32(f&0x3ff)
	switch {
	case exponent == 0:
		return sign * fraction * (1.0 / (1 << 24))
	case exponent == 31 && fraction == 0:
		return sign * float32(math.Inf(1))
	case exponent == 31:
		return float32(math.NaN())
	default:
		return sign * float32(math.Ldexp(float64(1024+fraction), exponent-25))
	}
}

// ToHalf rounds to the nearest half, ties to even.
func ToHalf(value float32) Half {
	pattern := math.Float32bits(value)
	sign, magnitude := Half(pattern>>16&0x8000), pattern&0x7fff_ffff
	switch {
	case magnitude > 0x7f80_0000:
		return sign | 0x7e00
	case magnitude >= 0x477f_f000: // 65520 and more round to infinity.
		return sign | 0x7c00
	case magnitude < 0x3880_0000: // Below the smallest normal half: count in steps of 2^-24.
		return sign | Half(math.RoundToEven(float64(math.Float32frombits(magnitude))*(1<<24)))
	default:
		rebased := magnitude - 112<<23
		return sign | Half((rebased+0xfff+rebased>>13&1)>>13)
	}
}

// Int128 is a signed 128-bit number: the unscaled value of a decimal128. Arithmetic wraps around like that of int64.
type Int128 struct {
	Low  uint64
	High int64
}

// ToInt128 is the same number.
func ToInt128(value int64) Int128 { return Int128{uint64(value), value >> 63} }

// Int64 is the same number. It is false where that needs more than 64 bits.
func (a Int128) Int64() (value int64, ok bool) { return int64(a.Low), a.High == int64(a.Low)>>63 }

// Add is a + b.
func (a Int128) Add(b Int128) Int128 {
	low, carry := bits.Add64(a.Low, b.Low, 0)
	high, _ := bits.Add64(uint64(a.High), uint64(b.High), carry)
	return Int128{low, int64(high)}
}

// AddExact is a + b. It is false where that needs more than 128 bits.
func (a Int128) AddExact(b Int128) (sum Int128, ok bool) {
	sum = a.Add(b)
	// Only two numbers of one sign can leave the range, and then the sum has the other.
	return sum, (a.High^sum.High)&(b.High^sum.High) >= 0
}

// Sub is a - b.
func (a Int128) Sub(b Int128) Int128 {
	low, borrow := bits.Sub64(a.Low, b.Low, 0)
	high, _ := bits.Sub64(uint64(a.High), uint64(b.High), borrow)
	return Int128{low, int64(high)}
}

// Neg is -a.
func (a Int128) Neg() Int128 { return Int128{}.Sub(a) }

// Mul is a × b.
func (a Int128) Mul(b Int128) Int128 {
	high, low := bits.Mul64(a.Low, b.Low)
	return Int128{low, int64(high + a.Low*uint64(b.High) + uint64(a.High)*b.Low)}
}

// Sign is -1, 0 or 1.
func (a Int128) Sign() int {
	switch {
	case a.High < 0:
		return -1
	case a.High == 0 && a.Low == 0:
		return 0
	default:
		return 1
	}
}

// Cmp is -1, 0 or 1: a less than, equal to or more than b.
func (a Int128) Cmp(b Int128) int {
	switch {
	case a.High < b.High || a.High == b.High && a.Low < b.Low:
		return -1
	case a == b:
		return 0
	default:
		return 1
	}
}

// abs is the magnitude, which is unsigned.
func (a Int128) abs() (high, low uint64) {
	if a.High < 0 {
		a = a.Neg()
	}
	return uint64(a.High), a.Low
}

// Fits says whether the number has at most so many decimal digits, as a decimal128 of that precision: 38 at most.
func (a Int128) Fits(precision int) bool {
	high, low := a.abs()
	limit := pow10[precision]
	return high < uint64(limit.High) || high == uint64(limit.High) && low < limit.Low
}

// pow10 has 10^0 to 10^38.
var pow10 = func() (powers [decimalDigits + 1]Int128) {
	powers[0] = Int128{Low: 1}
	for i := range decimalDigits {
		powers[i+1] = powers[i].Mul(Int128{Low: 10})
	}
	return powers
}()

const (
	pow10e19 = 10_000_000_000_000_000_000
	// decimalDigits is the most that a decimal128 has.
	decimalDigits = 38
)

func div1e19(high, low uint64) (quotientHigh, quotientLow, remainder uint64) {
	quotientHigh = high / pow10e19
	quotientLow, remainder = bits.Div64(high%pow10e19, low, pow10e19)
	return quotientHigh, quotientLow, remainder
}

func (a Int128) String() string { return string(a.AppendDecimal(nil, 0)) }

// AppendDecimal appends the number with its last scale digits behind a point, of which there are none for 0: -1.50 for
// -150 and 2. The scale is not negative.
func (a Int128) AppendDecimal(text []byte, scale int) []byte {
	if a.High < 0 {
		text = append(text, '-')
	}
	// Digits from the end, in steps of 19.
	var digits [3 * 19]byte
	start := len(digits)
	high, low := a.abs()
	for high > 0 {
		var rest uint64
		high, low, rest = div1e19(high, low)
		for range 19 {
			start--
			digits[start] = '0' + byte(rest%10)
			rest /= 10
		}
	}
	for low > 0 {
		start--
		digits[start] = '0' + byte(low%10)
		low /= 10
	}
	number := digits[start:]
	if whole := len(number) - scale; whole > 0 {
		text = append(text, number[:whole]...)
		number = number[whole:]
	} else {
		text = append(text, '0')
	}
	if scale > 0 {
		text = append(text, '.')
		for range scale - len(number) {
			text = append(text, '0')
		}
		text = append(text, number...)
	}
	return text
}

// ParseDecimal reads a decimal number, such as -1.5, as a number of units of 10^-scale: -150 for scale 2. It is false
// for text that is none, that has more digits behind the point than scale, or more than 38 in all.
func ParseDecimal(text string, scale int) (value Int128, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	digits, behind := 0, -1
	for _, character := range []byte(text) {
		switch {
		case character == '.' && behind < 0:
			behind = 0
			continue
		case character < '0' || character > '9':
			return Int128{}, false
		}
		if behind >= 0 {
			behind++
		}
		digits++
		if digits > decimalDigits && !value.Fits(decimalDigits-1) {
			return Int128{}, false
		}
		value = value.Mul(Int128{Low: 10}).Add(Int128{Low: uint64(character - '0')})
	}
	if digits == 0 || behind > scale || behind == 0 {
		return Int128{}, false
	}
	for range scale - max(behind, 0) {
		if !value.Fits(decimalDigits - 1) {
			return Int128{}, false
		}
		value = value.Mul(Int128{Low: 10})
	}
	if negative {
		value = value.Neg()
	}
	return value, true
}

// Int256 is a signed 256-bit number, least significant part first: the unscaled value of a decimal256.
type Int256 [4]uint64

// ToInt256 is the same number.
func ToInt256(value Int128) Int256 {
	sign := uint64(value.High >> 63)
	return Int256{value.Low, uint64(value.High), sign, sign}
}

// Int128 is the same number. It is false where that needs more than 128 bits.
func (a Int256) Int128() (value Int128, ok bool) {
	value = Int128{a[0], int64(a[1])}
	return value, ToInt256(value) == a
}

func (a Int256) String() string {
	if value, ok := a.Int128(); ok {
		return value.String()
	}
	const hex = "0123456789abcdef"
	var bytes [32]byte
	for place, part := range a {
		binary.BigEndian.PutUint64(bytes[24-8*place:], part)
	}
	text := []byte("0x")
	for _, b := range bytes {
		text = append(text, hex[b>>4], hex[b&15])
	}
	return string(text)
}
