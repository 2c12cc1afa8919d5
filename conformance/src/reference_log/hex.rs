//! Bytes as traces write them: two lower-case digits each.

use std::fmt::Write as _;

/// The digits.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes; the error says what is wrong with the digits.
pub(super) fn decode(text: &str) -> Result<Vec<u8>, String> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err("an odd number of hexadecimal digits".to_owned());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs
        .iter()
        .map(|[high, low]| match (digit(*high), digit(*low)) {
            (Some(high), Some(low)) => Ok(high << 4 | low),
            _ => Err("something that is no hexadecimal digit".to_owned()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_digits_are_each_other() {
        assert_eq!(decode("00ff7a").as_deref().map(encode).as_deref(), Ok("00ff7a"));
        assert!(decode("0").is_err());
        assert!(decode("0g").is_err());
    }
}
