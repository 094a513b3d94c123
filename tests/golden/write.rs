//! What the golden files hold.

use crate::common::{Capitals, sentences};
use plica::format::block::{BlockHeader, BlockKind, Codec, HEADER_BYTES, Reference, payload_checksum, span_bytes};
use plica::format::commit::{Commit, CoverChecksum};
use plica::format::key::Field as Searched;
use plica::format::leaf::{Leaf, LeafBuilder, LeafForm};
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::format::page::{FilePage, SLOT_PAGES, Slot, SlotState, role_of};
use plica::format::postings::{Piece, PostingList, PostingValue};
use plica::format::separator::SeparatorBuilder;
use plica::format::state::IndexState;
use plica::ingest::{Category, EntityUpdate, Reader, RecordKind, RecordUpdate};
use plica::outline::{Field, PageInput, PageSummarizer, Subject, Value};
use plica::{MemoryScope, NewChunk, Options, Origin, VacuumOptions, Writer, vacuum};
use std::path::Path;
use std::sync::Arc;

/// Two documents, one with a long title and metadata; several
/// commits and sessions; summaries on two levels; chunks with titles, spans and external ids; long lists and values.
pub fn v1(path: &Path) {
    let options = Options::new().fanout(3).timestamps(false).file_id(*b"golden index one");
    let mut writer = Writer::create(path, &options).unwrap();
    let mut reader = Reader::new(Some(&Capitals));
    writer.add_document("letters", &"A long title. ".repeat(30), r#"{"lang":"en","year":1901}"#).unwrap();
    writer.add_document("notes", "Notes", "").unwrap();
    writer.publish("letters").unwrap();
    for at in 0..12u32 {
        let text = sentences(at, 5);
        reader.read_chunks(&mut writer, &[("letters", NewChunk::text(&text))]).unwrap();
        if at % 3 == 1 {
            writer.commit().unwrap();
        }
    }
    drop(writer);
    let mut writer = Writer::open_with(path, &options).unwrap();
    for at in 0..4u32 {
        let id = format!("n{at}");
        let text = format!("The lamp, number {at}, of the keeper. 書類 ΟΔΥΣΣΕΥΣ {}", "lamp ".repeat(at as usize));
        let chunk = NewChunk { title: "Lamp", text: &text, external_id: Some(&id), span: Some((10, 20)) };
        writer.append_chunk("notes", &chunk).unwrap();
        writer.count_update("notes", Origin::Given).unwrap();
    }
    let long: Vec<String> = (0..60).map(|n| format!("the keeper of lamp {n}, {}", "far away ".repeat(9))).collect();
    let keeper = EntityUpdate {
        name: "Ilse".into(),
        kind: "person".into(),
        aliases: vec!["the keeper".into()],
        descriptions: long,
    };
    writer.add_entity("notes", &keeper, &[0, 2]).unwrap();
    writer.set_summary("notes", 1, 0, "A keeper and a lamp.", Origin::Given).unwrap();
    writer.publish("notes").unwrap();
    writer.commit().unwrap();
}

/// A writer of an index with the document `letters`, published.
fn letters(path: &Path, file_id: &[u8; 16]) -> Writer {
    let options = Options::new().fanout(3).timestamps(false).file_id(*file_id);
    let mut writer = Writer::create(path, &options).unwrap();
    writer.add_document("letters", "Letters", "").unwrap();
    let mut start = 0;
    for at in 0..6u32 {
        let text = format!("Letter {at} of Ilse, keeper of the lamp. {}", sentences(at, 3));
        let span = Some((start, start + text.len() as u64));
        start += text.len() as u64;
        writer.append_chunk("letters", &NewChunk { span, ..NewChunk::text(&text) }).unwrap();
    }
    writer.publish("letters").unwrap();
    writer.commit().unwrap();
    writer
}

fn names(path: &[&str]) -> Vec<String> {
    path.iter().map(|&name| name.to_owned()).collect()
}

/// A summarizer that counts, and so is kept as one that costs calls.
struct Counted;

impl PageSummarizer for Counted {
    fn summarize(&self, page: &PageInput<'_>) -> plica::Result<String> {
        Ok(format!("{} entries", page.entries.len()))
    }
}

/// An outline: categories named and not, subjects in one page and in several, a large one, summaries of
/// pages, what was removed and corrected.
pub fn outline(path: &Path) {
    let mut writer = letters(path, b"golden index two");
    writer.summarize_pages_with(Arc::new(Counted));
    writer.set_outline_budget("letters", 512).unwrap();
    for (path, title) in [(&[][..], "The letters"), (&["Letters"], ""), (&["People"], ""), (&["People", "Keepers"], "")]
    {
        let fields = names(&["keeps", "writes to"]);
        let category = Category { path: names(path), summary: "What is in here.".into(), fields };
        writer.add_category("letters", &category, title).unwrap();
    }
    for at in 0..48u32 {
        let value =
            Value { text: format!("lamp {at} on rock {}", at * 7), span: Some((u64::from(at), u64::from(at) + 9)) };
        let fields = vec![Field { name: "keeps".into(), values: vec![value] }];
        let links = vec![names(&["Letters", &format!("Letter {}", at % 6)])];
        let subject = Subject { name: format!("Keeper {at}"), summary: "Keeps a lamp.".into(), fields, links };
        let category = if at % 4 == 0 { names(&["Others"]) } else { names(&["People", "Keepers"]) };
        writer.add_subject("letters", &category, &subject).unwrap();
        if at % 20 == 9 {
            writer.commit().unwrap();
        }
    }
    let values = (0..90u64).map(|at| Value { text: format!("a line of words, number {at}"), span: Some((at, at + 5)) });
    let mut values: Vec<Value> = values.collect();
    values.push(Value { text: String::new(), span: Some((10, 300)) });
    let fields = vec![Field { name: "says".into(), values }];
    let large = Subject { name: "Letter 3".into(), summary: "A long letter.".into(), fields, links: Vec::new() };
    writer.add_subject("letters", &names(&["Letters"]), &large).unwrap();
    assert!(writer.remove_subject("letters", &names(&["Others"]), "keeper 8").unwrap());
    let corrected = Subject { name: "Ilse".into(), summary: "Keeps the first lamp.".into(), ..Subject::default() };
    writer.correct_subject("letters", &names(&["People", "Keepers"]), "Keeper 1", &corrected).unwrap();
    writer.commit().unwrap();
}

/// Records: of several kinds, with and without conditions, removed and corrected ones; a replacement that is not
/// published.
pub fn records(path: &Path) {
    let mut writer = letters(path, b"golden index 3rd");
    let record = |entity: &str, label: &str, value: &str| RecordUpdate {
        entity: entity.into(),
        entity_type: "person".into(),
        kind: RecordKind::Relation,
        label: label.into(),
        value: value.into(),
        ..RecordUpdate::default()
    };
    for at in 0..40u32 {
        let record = record(&format!("Keeper {}", at % 9), "keeper of", &format!("lamp {at}"));
        writer.add_record("letters", &record, &[at % 6, 5]).unwrap();
    }
    let one = record("Ilse", "writes-to", "Anna");
    writer.add_record("letters", &one, &[2]).unwrap();
    let dated = RecordUpdate { condition: Some(("day".into(), "7".into())), valid: "1901".into(), ..one.clone() };
    let dated = RecordUpdate { kind: RecordKind::Property, coarse: "contact".into(), ..dated };
    writer.add_record("letters", &dated, &[1, 4]).unwrap();
    writer.commit().unwrap();
    writer.remove_record("letters", &record("Keeper 1", "keeper of", "lamp 1")).unwrap();
    writer.correct_record("letters", &one, &record("Ilse", "writes-to", "Bruno")).unwrap();
    writer.commit().unwrap();
    writer.replace_document("letters", "The letters, anew", "").unwrap();
    writer.commit().unwrap();
}

/// Texts that are compressed with a dictionary of them: as many as it takes to train one, of few words.
pub fn dictionary(path: &Path) {
    let options = Options::new().fanout(16).timestamps(false).file_id(*b"golden index 4th");
    let mut writer = Writer::create(path, &options).unwrap();
    writer.add_document("log", "A log of lamps", "").unwrap();
    // So regular that a dictionary takes little, and not so regular that blocks would be stored as they are.
    let mut state = 7u32;
    for _ in 0..18 {
        let mut text = String::new();
        while text.len() < 15_500 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text += &sentences((state >> 16) % 24, 3);
        }
        writer.append_chunk("log", &NewChunk::text(&text)).unwrap();
    }
    writer.publish("log").unwrap();
    writer.commit().unwrap();
    drop(writer);
    vacuum(path, &VacuumOptions::new()).unwrap();
    let mut writer = Writer::open_with(path, &options).unwrap();
    writer.append_chunk("log", &NewChunk::text(&sentences(3, 9))).unwrap();
    writer.commit().unwrap();
}

/// A small index with one memory for all documents, in forms that this writer gives only to large ones: an automaton as a
/// leaf, a separator page above it, postings in a block of their own, padding. They are put in here, and the commit is
/// made anew.
pub fn forms(path: &Path) {
    let options = Options::new().fanout(3).timestamps(false).file_id(*b"golden index 5th");
    let mut writer = Writer::create(path, &options.memory(MemoryScope::Index)).unwrap();
    let mut reader = Reader::new(Some(&Capitals));
    for at in 0..4u32 {
        let document = ["letters", "notes"][at as usize % 2];
        if at < 2 {
            writer.add_document(document, "A title", "").unwrap();
            writer.publish(document).unwrap();
        }
        reader.read_chunks(&mut writer, &[(document, NewChunk::text(&sentences(at, 4)))]).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    vacuum(path, &VacuumOptions::new()).unwrap();
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, with_large_forms(&bytes)).unwrap();
}

/// A file that is being written, block by block.
struct Blocks {
    bytes: Vec<u8>,
    salt: u64,
    file_id: [u8; 16],
    cover: CoverChecksum,
}

impl Blocks {
    fn append(&mut self, kind: BlockKind, payload: &[u8]) -> Reference {
        let (offset, stored_bytes, checksum) =
            (self.bytes.len() as u64, payload.len() as u32, payload_checksum(payload));
        let header = BlockHeader {
            kind,
            codec: Codec::Stored,
            stored_bytes,
            raw_bytes: stored_bytes,
            payload_checksum: checksum,
            salt: self.salt,
        };
        let encoded = header.encode(&self.file_id, offset);
        self.cover.add(&encoded);
        self.bytes.extend_from_slice(&encoded);
        self.bytes.extend_from_slice(payload);
        self.bytes.resize((offset + span_bytes(stored_bytes)) as usize, 0);
        Reference { offset, stored_bytes, kind, checksum }
    }
}

/// A leaf of these entries, and its first key.
fn leaf(entries: &[(Vec<u8>, Vec<u8>)], form: LeafForm) -> Vec<u8> {
    let mut builder = LeafBuilder::new();
    entries.iter().for_each(|(key, value)| builder.push(key, value).unwrap());
    builder.finish_as(form).unwrap()
}

/// The index of a file of one commit with one leaf, in other forms.
fn with_large_forms(bytes: &[u8]) -> Vec<u8> {
    let page = FilePage::decode(&bytes[..4096]).unwrap();
    let blocks = crate::blocks::blocks(bytes);
    let [before @ .., old_leaf, commit] = &blocks[..] else { panic!("a leaf and a commit expected") };
    assert_eq!((old_leaf.header.kind, commit.header.kind), (BlockKind::Leaf, BlockKind::Commit));
    let mut commit = Commit::decode(&commit.raw).unwrap();
    assert_eq!((commit.sequence, commit.covered_from), (1, FIRST_BLOCK_OFFSET));
    let mut entries = Vec::new();
    let mut cursor = Leaf::decode(&old_leaf.raw).unwrap().seek(b"");
    while let Some((key, value)) = cursor.next().unwrap() {
        entries.push((key.to_vec(), value.to_vec()));
    }

    let file = bytes[..old_leaf.offset as usize].to_vec();
    let mut out = Blocks { bytes: file, salt: commit.salt, file_id: page.file_id, cover: CoverChecksum::default() };
    for block in before {
        assert_ne!(block.header.kind, BlockKind::Leaf);
        out.cover.add(bytes[block.offset as usize..].first_chunk::<HEADER_BYTES>().unwrap());
    }
    // The first list of names goes into a block.
    let is_name = |(key, _): &&mut (Vec<u8>, Vec<u8>)| matches!(Searched::of_key(key), Some((Searched::Name, _)));
    let (_, value) = entries.iter_mut().find(is_name).unwrap();
    let list = PostingList::decode(value).unwrap();
    let reference = out.append(BlockKind::Postings, value);
    let (first_id, last_id, count) = (list.first_id(), list.last_id(), list.len() as u32);
    let mut pieces = Vec::new();
    PostingValue::encode_pieces(&[Piece { first_id, last_id, count, bound: None, reference }], &mut pieces).unwrap();
    *value = pieces;
    out.append(BlockKind::Padding, &[0; 80]);
    let mut root = SeparatorBuilder::new(1).unwrap();
    let (first, second) = entries.split_at(entries.len() / 2);
    for (entries, form) in [(first, LeafForm::Front), (second, LeafForm::Fst)] {
        root.push(&entries[0].0, out.append(BlockKind::Leaf, &leaf(entries, form))).unwrap();
    }
    let root = out.append(BlockKind::Separator, &root.finish().unwrap());

    let mut state = IndexState::decode(&commit.state).unwrap();
    state.segments[0].root = root;
    commit.state = state.encode();
    (commit.covered_blocks, commit.covered_checksum) = (out.cover.blocks(), out.cover.checksum());
    let reference = out.append(BlockKind::Commit, &commit.encode());
    for page in SLOT_PAGES {
        let slot = Slot {
            role: role_of(page),
            state: SlotState::Valid,
            page,
            epoch: commit.epoch,
            sequence: commit.sequence,
            salt: commit.salt,
            file_id: out.file_id,
            commit: reference,
        };
        let at = usize::from(page) * 4096;
        out.bytes[at..at + 4096].copy_from_slice(&slot.encode());
    }
    out.bytes
}
