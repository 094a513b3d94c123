//! Page 0 and the four head slots: the only bytes of a file that have a fixed place.
//!
//! *Page 0* says that the file is a Plica index, of which version, under which id, and with which creation
//! parameters. It is written once. The *slots* say which commit is the newest: two *intent* slots, written before the
//! one sync of a commit, and two *publish* slots, written after it. Each is a page of its own, so that a torn write
//! harms one of them, and each ends with a CRC-32 of all that stands before it, zeros included.

use crate::FormatError;
use crate::block::{BlockKind, FileId, Reference};
use crate::bytes::Reader;
use crate::limits::{
    BLOCK_ALIGN_BYTES, COMMIT_RAW_BYTES, FANOUT_LEAST, FANOUT_MOST, FIRST_BLOCK_OFFSET, OFFSET_BOUND, PAGE_BYTES,
};

/// First eight bytes of every index file, in the manner of PNG: a byte over 127, a name, and the line ends that a
/// transfer as text would change.
pub const FILE_MAGIC: [u8; 8] = [0x89, b'P', b'L', b'C', 0x0D, 0x0A, 0x1A, 0x0A];
/// Format version that this crate reads and writes. Another major version cannot be read.
pub const MAJOR_VERSION: u16 = 1;
/// Written into new files; a greater minor version can be read.
pub const MINOR_VERSION: u16 = 0;
/// First four bytes of every slot.
pub const SLOT_MAGIC: [u8; 4] = *b"PlSl";
/// Page numbers of the intent slots, then of the publish slots.
pub const SLOT_PAGES: [u16; 4] = [1, 2, 3, 4];

/// Bytes of encoded [`Parameters`].
pub const PARAMETER_BYTES: usize = 8;
/// A page without the checksum at its end.
const BODY_BYTES: usize = PAGE_BYTES.saturating_sub(4);

/// How far entity records reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MemoryScope {
    /// Each document has records of its own.
    Document = 0,
    /// The documents of the index share their records.
    Index = 1,
}

/// What is fixed when an index is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Units that fold into one summary, [`FANOUT_LEAST`] to [`FANOUT_MOST`].
    pub fanout: u8,
    /// Words that a chunk aims at, at least 1.
    pub chunk_words: u32,
    /// How far entity records reach.
    pub memory: MemoryScope,
    /// Number of the tokenizer. Any number can be read; searching needs a known one.
    pub tokenizer: u16,
}

impl Parameters {
    /// The eight bytes of these parameters: fan-out, memory scope, tokenizer, chunk words.
    pub fn encode(&self) -> [u8; PARAMETER_BYTES] {
        let [t0, t1] = self.tokenizer.to_le_bytes();
        let [w0, w1, w2, w3] = self.chunk_words.to_le_bytes();
        [self.fanout, self.memory as u8, t0, t1, w0, w1, w2, w3]
    }

    /// Reads and checks parameters.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let fanout = reader.u8()?;
        if !(FANOUT_LEAST..=FANOUT_MOST).contains(&fanout) {
            return Err(reader.fail("a fan-out of 2 to 16", fanout));
        }
        let memory = match reader.u8()? {
            0 => MemoryScope::Document,
            1 => MemoryScope::Index,
            other => return Err(reader.fail("a memory scope of 0 or 1", other)),
        };
        let tokenizer = reader.u16()?;
        let chunk_words = reader.u32()?;
        if chunk_words == 0 {
            return Err(reader.fail("at least 1 word a chunk", chunk_words));
        }
        Ok(Self { fanout, chunk_words, memory, tokenizer })
    }
}

/// What page 0 says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePage {
    /// Format version; [`FilePage::decode`] leaves it to the caller to refuse a greater one.
    pub major: u16,
    /// Minor format version.
    pub minor: u16,
    /// Id of the file.
    pub file_id: FileId,
    /// What was fixed at creation.
    pub parameters: Parameters,
}

/// What stands where page 0 should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePageError {
    /// Something else: the bytes do not start as an index does.
    NotAnIndex {
        /// What they start with, in words.
        got: String,
    },
    /// A sound page 0 of a major version that this crate cannot read.
    Version {
        /// That version.
        major: u16,
    },
    /// A page 0 that has been changed.
    Damaged(FormatError),
}

impl FilePage {
    /// A page 0 of the present version.
    pub fn new(file_id: FileId, parameters: Parameters) -> Self {
        Self { major: MAJOR_VERSION, minor: MINOR_VERSION, file_id, parameters }
    }

    /// The bytes of page 0.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE_BYTES);
        out.extend_from_slice(&FILE_MAGIC);
        out.extend_from_slice(&self.major.to_le_bytes());
        out.extend_from_slice(&self.minor.to_le_bytes());
        out.extend_from_slice(&self.file_id);
        out.extend_from_slice(&self.parameters.encode());
        seal(out)
    }

    /// Reads page 0. `bytes` are the first of the file, [`PAGE_BYTES`] where it has so many.
    ///
    /// Magic, version and checksum have their places in every version, so that a foreign file, a newer version and
    /// damage are told apart.
    pub fn decode(bytes: &[u8]) -> Result<Self, FilePageError> {
        let magic = bytes.get(..FILE_MAGIC.len()).unwrap_or(bytes);
        if magic != FILE_MAGIC {
            return Err(if has_lost_only_its_magic(bytes) {
                FilePageError::Damaged(FormatError::new("page 0", 0, "the file magic", format_args!("{magic:02x?}")))
            } else {
                FilePageError::NotAnIndex { got: describe_start(bytes) }
            });
        }
        let body = check_seal("page 0", bytes).map_err(FilePageError::Damaged)?;
        Self::decode_body(body).map_err(FilePageError::Damaged).and_then(|page| match page {
            Ok(page) => Ok(page),
            Err(major) => Err(FilePageError::Version { major }),
        })
    }

    /// Reads the fields of a page with the right magic and checksum; the inner error is a foreign major version.
    fn decode_body(body: &[u8]) -> Result<Result<Self, u16>, FormatError> {
        let mut reader = Reader::new("page 0", body);
        reader.take(FILE_MAGIC.len())?;
        let major = reader.u16()?;
        if major != MAJOR_VERSION {
            return Ok(Err(major));
        }
        let minor = reader.u16()?;
        let file_id = reader.array()?;
        let parameters = Parameters::decode(&mut reader)?;
        demand_zeros(reader)?;
        Ok(Ok(Self { major, minor, file_id, parameters }))
    }
}

/// Whether all but the magic is a sound page 0.
fn has_lost_only_its_magic(bytes: &[u8]) -> bool {
    let Some(rest) = bytes.get(FILE_MAGIC.len()..PAGE_BYTES) else { return false };
    let mut page = Vec::with_capacity(PAGE_BYTES);
    page.extend_from_slice(&FILE_MAGIC);
    page.extend_from_slice(rest);
    check_seal("page 0", &page).is_ok()
}

/// What a foreign file starts with, for the error message.
fn describe_start(bytes: &[u8]) -> String {
    let start = bytes.get(..8).unwrap_or(bytes);
    if start.is_empty() {
        return "nothing (it is empty)".to_owned();
    }
    if bytes.iter().take(PAGE_BYTES).all(|&byte| byte == 0) {
        return "zeros (if it was an index, its start is lost, and a salvage tells what is left)".to_owned();
    }
    if start.get(1..4) == FILE_MAGIC.get(1..4) {
        return format!("{start:02x?} (an index that was transferred as text? copy it again as binary)");
    }
    if start.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return format!("{:?}", String::from_utf8_lossy(start));
    }
    format!("{start:02x?}")
}

/// Which of the two pairs a slot belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SlotRole {
    /// Written before the sync: the commit is there if all that it covers is.
    Intent = 1,
    /// Written after the sync: the commit is there.
    Publish = 2,
}

/// What a slot says of its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SlotState {
    /// It stands.
    Valid = 1,
    /// Its sync failed; whoever opens the file next decides without it.
    Invalid = 2,
    /// It stands, but the file has been replaced by a vacuumed one.
    Superseded = 3,
}

/// One head slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Intent or publish.
    pub role: SlotRole,
    /// Whether the commit stands.
    pub state: SlotState,
    /// Number of the page the slot lies in, one of [`SLOT_PAGES`].
    pub page: u16,
    /// Vacuums that the index has been through.
    pub epoch: u32,
    /// Sequence number of the commit, from 1.
    pub sequence: u64,
    /// Salt of the writer session that made the commit.
    pub salt: u64,
    /// Id of the file.
    pub file_id: FileId,
    /// The commit block; it is the last one of the commit.
    pub commit: Reference,
}

impl Slot {
    /// The bytes of the slot.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE_BYTES);
        out.extend_from_slice(&SLOT_MAGIC);
        out.extend_from_slice(&[self.role as u8, self.state as u8]);
        out.extend_from_slice(&self.page.to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.commit.stored_bytes.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.salt.to_le_bytes());
        out.extend_from_slice(&self.file_id);
        out.extend_from_slice(&self.commit.offset.to_le_bytes());
        out.extend_from_slice(&self.end().to_le_bytes());
        out.extend_from_slice(&self.commit.checksum.to_le_bytes());
        seal(out)
    }

    /// Reads the slot that lies in page `page` of the file `file_id`.
    pub fn decode(bytes: &[u8], page: u16, file_id: &FileId) -> Result<Self, FormatError> {
        let body = check_seal("slot", bytes)?;
        let mut reader = Reader::new("slot", body);
        let magic: [u8; 4] = reader.array()?;
        if magic != SLOT_MAGIC {
            return Err(FormatError::new("slot", 0, "the slot magic", format_args!("{magic:02x?}")));
        }
        let role = match reader.u8()? {
            1 => SlotRole::Intent,
            2 => SlotRole::Publish,
            other => return Err(reader.fail("the role of an intent or a publish slot", other)),
        };
        let state = match reader.u8()? {
            1 => SlotState::Valid,
            2 => SlotState::Invalid,
            3 => SlotState::Superseded,
            other => return Err(reader.fail("a slot state of 1 to 3", other)),
        };
        let own_page = reader.u16()?;
        if own_page != page || role != role_of(page) {
            return Err(reader
                .fail("the number of the page it lies in, and its role", format_args!("page {own_page}, {role:?}")));
        }
        let epoch = reader.u32()?;
        let stored_bytes = reader.u32()?;
        if stored_bytes as usize > COMMIT_RAW_BYTES {
            return Err(reader.fail("a stored length within a commit block's limit", stored_bytes));
        }
        let sequence = reader.u64()?;
        if sequence == 0 {
            return Err(reader.fail("a sequence number from 1", sequence));
        }
        let salt = reader.u64()?;
        let own_file: FileId = reader.array()?;
        if own_file != *file_id {
            return Err(reader.fail("the id of this file", format_args!("{own_file:02x?}")));
        }
        let offset = reader.u64()?;
        if !(FIRST_BLOCK_OFFSET..OFFSET_BOUND).contains(&offset) || !offset.is_multiple_of(BLOCK_ALIGN_BYTES) {
            return Err(reader.fail("an aligned offset in the block area", offset));
        }
        let end = reader.u64()?;
        let checksum = reader.u32()?;
        let commit = Reference { offset, stored_bytes, kind: BlockKind::Commit, checksum };
        if end != commit.end() {
            return Err(FormatError::new("slot", 56, format!("the end of the commit block, {}", commit.end()), end));
        }
        demand_zeros(reader)?;
        Ok(Self { role, state, page, epoch, sequence, salt, file_id: own_file, commit })
    }

    /// Where the file ends that this commit makes: just after the commit block.
    pub fn end(&self) -> u64 {
        self.commit.end()
    }

    /// Whether the bytes start as a slot does, of whatever file; for telling a damaged index from a foreign file.
    pub fn is_slot(bytes: &[u8]) -> bool {
        bytes.starts_with(&SLOT_MAGIC) && check_seal("slot", bytes).is_ok()
    }

    /// The id of the file that a sound slot belongs to.
    pub fn id_in(bytes: &[u8]) -> Option<FileId> {
        if !Self::is_slot(bytes) {
            return None;
        }
        bytes.get(32..48)?.try_into().ok()
    }
}

/// The role of the slot in page `page`.
pub fn role_of(page: u16) -> SlotRole {
    if page <= 2 { SlotRole::Intent } else { SlotRole::Publish }
}

/// Fills a page with zeros and ends it with the checksum of all before.
fn seal(mut out: Vec<u8>) -> Vec<u8> {
    out.resize(BODY_BYTES, 0);
    let checksum = crc32fast::hash(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

/// The page without its checksum, once that is found right.
fn check_seal<'a>(structure: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], FormatError> {
    let mut reader = Reader::new(structure, bytes);
    let body = reader.take(BODY_BYTES)?;
    let checksum = reader.u32()?;
    reader.finish()?;
    let computed = crc32fast::hash(body);
    if checksum != computed {
        return Err(FormatError::new(
            structure,
            BODY_BYTES,
            format!("checksum {computed:08x}"),
            format_args!("{checksum:08x}"),
        ));
    }
    Ok(body)
}

/// What the rest of a page is compared with.
static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// Demands that the rest of a page is zeros.
fn demand_zeros(mut reader: Reader<'_>) -> Result<(), FormatError> {
    let at = reader.position();
    let rest = reader.rest();
    // All at once: every opening looks at five pages.
    if ZEROS.get(..rest.len()) == Some(rest) {
        return Ok(());
    }
    match rest.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(index) => Err(FormatError::new("page", at.saturating_add(index), "zeros to the end", "another byte")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: FileId = [7; 16];

    fn parameters() -> Parameters {
        Parameters { fanout: 8, chunk_words: 500, memory: MemoryScope::Index, tokenizer: 1 }
    }

    fn slot() -> Slot {
        Slot {
            role: SlotRole::Publish,
            state: SlotState::Valid,
            page: 3,
            epoch: 2,
            sequence: 9,
            salt: 77,
            file_id: ID,
            commit: Reference { offset: 40_960, stored_bytes: 300, kind: BlockKind::Commit, checksum: 5 },
        }
    }

    #[test]
    fn page_0_reads_back() {
        let page = FilePage::new(ID, parameters());
        let bytes = page.encode();
        assert_eq!(bytes.len(), PAGE_BYTES);
        assert_eq!(FilePage::decode(&bytes), Ok(page));
    }

    #[test]
    fn a_foreign_file_a_newer_version_and_damage_are_told_apart() {
        let page = FilePage::new(ID, parameters());
        let mut newer = page;
        newer.major = 2;
        assert_eq!(FilePage::decode(&newer.encode()), Err(FilePageError::Version { major: 2 }));
        assert!(
            matches!(FilePage::decode(b"SQLite format 3"), Err(FilePageError::NotAnIndex { got }) if got.contains("SQLite"))
        );
        assert!(matches!(FilePage::decode(b""), Err(FilePageError::NotAnIndex { .. })));
        assert!(
            matches!(FilePage::decode(&[0; PAGE_BYTES]), Err(FilePageError::NotAnIndex { got }) if got.contains("zeros"))
        );
        let mut text = page.encode();
        text.remove(4);
        assert!(matches!(FilePage::decode(&text), Err(FilePageError::NotAnIndex { got }) if got.contains("as text")));
        assert!(matches!(FilePage::decode(&page.encode()[..100]), Err(FilePageError::Damaged(_))));
    }

    #[test]
    fn every_flipped_bit_of_page_0_is_damage() {
        let bytes = FilePage::new(ID, parameters()).encode();
        for bit in 0..PAGE_BYTES * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(FilePage::decode(&bad), Err(FilePageError::Damaged(_))), "bit {bit}");
        }
    }

    #[test]
    fn a_slot_passes_only_in_its_own_page_of_its_own_file() {
        let bytes = slot().encode();
        assert_eq!(bytes.len(), PAGE_BYTES);
        assert_eq!(Slot::decode(&bytes, 3, &ID).unwrap(), slot());
        assert!(Slot::decode(&bytes, 4, &ID).is_err());
        assert!(Slot::decode(&bytes, 1, &ID).is_err());
        assert!(Slot::decode(&bytes, 3, &[8; 16]).is_err());
    }

    #[test]
    fn every_flipped_bit_and_every_tear_of_a_slot_is_noticed() {
        let bytes = slot().encode();
        for bit in 0..PAGE_BYTES * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Slot::decode(&bad, 3, &ID).is_err(), "bit {bit}");
        }
        let mut newer = slot();
        newer.sequence = 11;
        let newer = newer.encode();
        for cut in 1..8 {
            let torn = [&newer[..cut * 512], &bytes[cut * 512..]].concat();
            assert!(Slot::decode(&torn, 3, &ID).is_err(), "torn at sector {cut}");
        }
    }

    /// A page of these bytes with a right checksum.
    fn sealed(start: &[u8]) -> Vec<u8> {
        seal(start.to_vec())
    }

    proptest! {
        #[test]
        fn what_is_accepted_under_a_right_checksum_is_what_would_be_written(
            change in prop::collection::vec((0usize..80, any::<u8>()), 0..4), publish: bool,
        ) {
            let mut page = slot();
            if !publish {
                (page.role, page.page) = (SlotRole::Intent, 1);
            }
            for (bytes, is_slot) in [(page.encode(), true), (FilePage::new(ID, parameters()).encode(), false)] {
                let mut bytes = bytes[..BODY_BYTES].to_vec();
                for &(at, value) in &change {
                    bytes[at] = value;
                }
                let bytes = sealed(&bytes);
                if is_slot {
                    if let Ok(slot) = Slot::decode(&bytes, page.page, &ID) {
                        prop_assert_eq!(slot.encode(), bytes);
                    }
                } else if let Ok(page) = FilePage::decode(&bytes) {
                    prop_assert_eq!(page.encode(), bytes);
                }
            }
        }

        #[test]
        fn parameters_have_one_form(bytes: [u8; 8]) {
            if let Ok(parameters) = Parameters::decode(&mut Reader::new("test", &bytes)) {
                prop_assert_eq!(parameters.encode(), bytes);
            }
        }
    }
}
