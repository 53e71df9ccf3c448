//! Which values of a column in the making are null.

/// One bit for each value, made at the first null.
#[derive(Debug, Clone, Default)]
pub struct ValidityBuilder {
    bits: Vec<u8>,
    len: usize,
    null_count: usize,
    capacity: usize,
}

impl ValidityBuilder {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }
    pub fn len(&self) -> usize {
        self.len
    }
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn null_count(&self) -> usize {
        self.null_count
    }

    #[inline]
    pub fn push_valid(&mut self) {
        if self.null_count > 0 {
            self.push_bit(true);
        }
        self.len += 1;
    }

    #[inline]
    pub fn push_null(&mut self) {
        if self.null_count == 0 {
            self.materialize();
        }
        self.push_bit(false);
        self.null_count += 1;
        self.len += 1;
    }

    #[inline]
    pub fn push(&mut self, valid: bool) {
        if valid { self.push_valid() } else { self.push_null() }
    }

    /// Adds `count` values that are not null.
    pub fn push_valid_n(&mut self, count: usize) {
        if self.null_count == 0 {
            self.len += count;
        } else {
            (0..count).for_each(|_| self.push_valid());
        }
    }

    #[inline]
    fn push_bit(&mut self, valid: bool) {
        let bit = self.len & 7;
        if bit == 0 {
            self.bits.push(u8::from(valid));
        } else if let Some(last) = self.bits.last_mut() {
            *last |= u8::from(valid) << bit;
        }
    }

    #[cold]
    fn materialize(&mut self) {
        self.bits = Vec::with_capacity(self.capacity.max(self.len + 1).div_ceil(8));
        self.bits.resize(self.len / 8, 0xff);
        if self.len & 7 != 0 {
            self.bits.push((1 << (self.len & 7)) - 1);
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        if self.null_count > 0 {
            let kept_ones = (0..len).filter(|i| self.bits[i >> 3] >> (i & 7) & 1 == 1).count();
            self.null_count = len - kept_ones;
            self.bits.truncate(len.div_ceil(8));
            if len & 7 != 0
                && let Some(last) = self.bits.last_mut()
            {
                *last &= (1 << (len & 7)) - 1;
            }
            if self.null_count == 0 {
                self.bits.clear();
            }
        }
        self.len = len;
    }

    /// The buffer (empty where no value is null) and the null count.
    pub fn finish(self) -> (Vec<u8>, usize) {
        (if self.null_count == 0 { Vec::new() } else { self.bits }, self.null_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(valid: &[bool]) -> ValidityBuilder {
        let mut builder = ValidityBuilder::with_capacity(valid.len());
        valid.iter().for_each(|valid| builder.push(*valid));
        builder
    }

    #[test]
    fn no_null_no_buffer() {
        assert_eq!(built(&[true; 20]).finish(), (vec![], 0));
    }

    #[test]
    fn bits_from_the_first_null_on() {
        let mut valid = [true; 19];
        valid[9] = false;
        valid[18] = false;
        assert_eq!(built(&valid).finish(), (vec![0xff, 0b1111_1101, 0b011], 2));
        assert_eq!(built(&[false]).finish(), (vec![0], 1));
    }

    #[test]
    fn truncating_equals_never_having_pushed() {
        let valid: Vec<bool> = (0..40).map(|i| i % 11 != 10).collect();
        for len in 0..=40 {
            let mut cut = built(&valid);
            cut.truncate(len);
            cut.push(true);
            cut.push(false);
            let mut fresh = built(&valid[..len]);
            fresh.push(true);
            fresh.push(false);
            assert_eq!(cut.finish(), fresh.finish(), "cut to {len}");
        }
    }
}
