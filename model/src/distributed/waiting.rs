//! The states of one depth that wait for their expansion, encoded, one behind the other, each with its fingerprint.
//!
//! In pieces, so that what was expanded is given back at once, and what is added never moves what is there.

use std::collections::VecDeque;
use std::marker::PhantomData;

use super::fingerprint::Fingerprint;

/// How large a piece is, in bytes.
const PIECE: usize = 1 << 18;

/// A queue of encoded states.
pub(super) struct Waiting<F> {
    pieces: VecDeque<Vec<u8>>,
    /// Up to where the first piece has been read.
    at: usize,
    width: PhantomData<F>,
}

impl<F> Default for Waiting<F> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), at: 0, width: PhantomData }
    }
}

impl<F: Fingerprint> Waiting<F> {
    /// Adds a state.
    pub(super) fn push(&mut self, fingerprint: F, encoded: &[u8]) {
        let room = F::WIDTH + 4 + encoded.len();
        if self.pieces.back().is_none_or(|piece| piece.len() + room > piece.capacity()) {
            self.pieces.push_back(Vec::with_capacity(PIECE.max(room)));
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.extend_from_slice(fingerprint.to_bytes().as_ref());
            piece.extend_from_slice(&u32::try_from(encoded.len()).unwrap_or(u32::MAX).to_le_bytes());
            piece.extend_from_slice(encoded);
        }
    }

    /// Takes out the oldest state.
    pub(super) fn pop(&mut self) -> Option<(F, &[u8])> {
        while self.pieces.front().is_some_and(|piece| self.at >= piece.len()) {
            self.pieces.pop_front();
            self.at = 0;
        }
        let (fingerprint, left) = self.pieces.front()?.get(self.at..)?.split_at_checked(F::WIDTH)?;
        let (length, left) = left.split_first_chunk::<4>()?;
        let encoded = left.get(..u32::from_le_bytes(*length) as usize)?;
        self.at += F::WIDTH + 4 + encoded.len();
        Some((F::Bytes::try_from(fingerprint).ok().map(F::from_bytes)?, encoded))
    }

    /// Whether no state waits.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.len() <= 1 && self.pieces.front().is_none_or(|piece| self.at >= piece.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_out_as_they_went_in_across_pieces() {
        let mut waiting = Waiting::default();
        let states: Vec<Vec<u8>> =
            (0..2_000_u32).map(|number| number.to_le_bytes().repeat(number as usize % 200)).collect();
        for (number, state) in (0_u64..).zip(&states) {
            waiting.push(number, state);
        }
        assert!(waiting.pieces.len() > 1, "the test means to cross a piece");
        for (number, state) in (0_u64..).zip(&states) {
            assert!(!waiting.is_empty());
            assert_eq!(waiting.pop(), Some((number, state.as_slice())));
        }
        assert!(waiting.is_empty());
        assert_eq!(waiting.pop(), None);
    }

    #[test]
    fn a_state_larger_than_a_piece_fits() {
        let mut waiting = Waiting::default();
        waiting.push(1_u128, &vec![7; 3 * PIECE]);
        assert_eq!(waiting.pop().map(|(_, encoded)| encoded.len()), Some(3 * PIECE));
    }
}
