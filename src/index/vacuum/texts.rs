//! How the texts of the new file are compressed: with a dictionary of them all, and with the patience that they allow.

use super::ids::Ids;
use crate::Result;
use crate::index::view::View;
use crate::search::Limits;
use crate::store::{Compression, StoreWriter, TRAINED_BYTES, TRAINED_BYTES_MOST, train};
use plica_format::block::{BlockKind, Reference};

/// Bytes of text up to which the highest level is used: about a MB a second.
const PATIENT_BYTES: u64 = 32 << 20;
/// The highest level of zstd that needs no more memory than a block.
const PATIENT_LEVEL: i32 = 19;
/// The level for more text.
const BUSY_LEVEL: i32 = 9;

/// Trains a dictionary with the texts that are left, evenly thinned out to the greatest sample, writes it, and sets the
/// compression of the new file. All of it depends on the texts alone.
pub(super) fn prepare(view: View<'_>, ids: &Ids, new: &mut StoreWriter, limits: &Limits) -> Result<Option<Reference>> {
    let mut total = 0u64;
    for slot in &ids.documents {
        total = total.saturating_add(view.head(slot.number)?.map_or(0, |head| head.text_bytes));
    }
    let level = if total <= PATIENT_BYTES { PATIENT_LEVEL } else { BUSY_LEVEL };
    let (mut sample, mut sizes) = (Vec::new(), Vec::new());
    if total >= TRAINED_BYTES as u64 {
        let mut credit = 0;
        for &chunk in &ids.old_chunks {
            limits.check()?;
            // Each chunk in so many that the sample comes to its greatest size.
            credit += TRAINED_BYTES_MOST as u64;
            if credit < total {
                continue;
            }
            credit = credit.saturating_sub(total).min(TRAINED_BYTES_MOST as u64);
            let (title, text) = view.text(&view.text_row(chunk)?)?;
            sizes.push(title.len() + text.len());
            sample.extend_from_slice(title.as_bytes());
            sample.extend_from_slice(text.as_bytes());
        }
    }
    new.set_compression(Compression { level, dictionary: None });
    let Some(dictionary) = train(&sample, &sizes) else { return Ok(None) };
    let reference = new.append(BlockKind::Dictionary, &dictionary, true)?;
    new.set_compression(Compression { level, dictionary: Some(dictionary.into()) });
    Ok(Some(reference))
}
