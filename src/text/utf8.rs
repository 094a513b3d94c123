//! The door through which bytes become text.

use crate::{Error, Result};

/// `bytes` as text, or an error that says where they stop being UTF-8 and what to do.
///
/// `what` names the input in the error, a path for instance. A byte-order mark of UTF-8 is text like any other and
/// stays.
///
/// # Errors
///
/// [`Error::Invalid`] with the offset (from 0) and the value of the first byte that belongs to no character.
pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let at = error.valid_up_to();
    let byte = bytes.get(at).copied().unwrap_or_default();
    let advice = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            "it starts with the byte-order mark of UTF-32; convert it to UTF-8 (iconv -f UTF-32 -t UTF-8)"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "it starts with the byte-order mark of UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
        }
        _ if error.error_len().is_none() => "the last character is cut short; give the whole text",
        _ => "convert it to UTF-8 first (iconv -f ITS-ENCODING -t UTF-8)",
    };
    Err(Error::invalid(format!("{what}: expected UTF-8 text, got byte 0x{byte:02x} at offset {at}; {advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_passes_unchanged() {
        for text in ["", "\u{feff}a\r\n\0", "漢字"] {
            assert_eq!(utf8(text.as_bytes(), "x").ok(), Some(text));
        }
    }

    #[test]
    fn errors_say_where_and_what_to_do() {
        for (bytes, parts) in [
            (&b"caf\xe9 noir"[..], ["notes.txt", "0xe9 at offset 3", "convert it to UTF-8"]),
            (b"\xff\xfea\0", ["notes.txt", "0xff at offset 0", "UTF-16"]),
            (b"\xfe\xff\0a", ["notes.txt", "0xfe at offset 0", "UTF-16"]),
            (b"\xff\xfe\0\0a\0\0\0", ["notes.txt", "0xff at offset 0", "UTF-32"]),
            (b"\0\0\xfe\xff", ["notes.txt", "0xfe at offset 2", "UTF-32"]),
            (b"ab\xe6\xbc", ["notes.txt", "0xe6 at offset 2", "cut short"]),
        ] {
            let message = utf8(bytes, "notes.txt").unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{part:?} not in {message:?}");
            }
        }
    }
}
