//! Numbers and byte strings in blobs. Reading returns `None` where the bytes end too early.

/// Appends `number` in groups of seven bits, the lowest first (LEB128).
pub(super) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    to.push(number.to_le_bytes()[0]);
}

/// Appends a number that may be negative, small ones of either sign in few bytes.
pub(super) fn put_signed(to: &mut Vec<u8>, number: i64) {
    put_number(to, (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
}

/// Appends the length of `bytes` and `bytes`.
pub(super) fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_number(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// The first bytes of a key, as a number that sorts as they do.
pub(super) fn beginning(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(first.len());
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

/// Bytes being read from the front.
#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    pub(super) fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.size()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
