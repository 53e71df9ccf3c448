//! Which values of a column in the making are null.

/// The places of the nulls, in rising order. Most values are not null, and pushing those costs nothing here.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nulls {
    places: Vec<u32>,
}

impl Nulls {
    #[inline]
    pub fn push(&mut self, place: usize) {
        self.places.push(place as u32);
    }

    /// Forgets nulls from a place on.
    pub fn truncate(&mut self, len: usize) {
        self.places.truncate(self.places.partition_point(|place| (*place as usize) < len));
    }

    /// The validity buffer of a column of `len` values (empty where none is null) and the null count.
    pub fn finish(self, len: usize) -> (Vec<u8>, usize) {
        if self.places.is_empty() {
            return (Vec::new(), 0);
        }
        let mut bits = vec![0xff; len.div_ceil(8)];
        if let Some(last) = bits.last_mut()
            && len & 7 != 0
        {
            *last = (1 << (len & 7)) - 1;
        }
        for place in &self.places {
            bits[*place as usize >> 3] &= !(1 << (place & 7));
        }
        (bits, self.places.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[usize]) -> Nulls {
        let mut nulls = Nulls::default();
        places.iter().for_each(|place| nulls.push(*place));
        nulls
    }

    #[test]
    fn no_null_no_buffer() {
        assert_eq!(of(&[]).finish(20), (vec![], 0));
    }

    #[test]
    fn one_bit_for_each_value() {
        assert_eq!(of(&[9, 18]).finish(19), (vec![0xff, 0b1111_1101, 0b011], 2));
        assert_eq!(of(&[0]).finish(1), (vec![0], 1));
        assert_eq!(of(&[7]).finish(8), (vec![0x7f], 1));
    }

    #[test]
    fn truncating_equals_never_having_pushed() {
        let all = [3, 4, 17, 31];
        for len in 0..=40 {
            let mut cut = of(&all);
            cut.truncate(len);
            let fresh: Vec<_> = all.iter().copied().filter(|place| *place < len).collect();
            assert_eq!(cut.finish(len), of(&fresh).finish(len), "cut to {len}");
        }
    }
}
