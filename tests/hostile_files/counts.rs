//! Counts and ids that claim more, or other things, than there are.

use crate::forge::Forge;
use crate::trial::{Trial, golden};
use plica::format::block::BlockKind;
use plica::format::document::DocumentHead;
use plica::format::entity::{decode_rows, encode_rows};
use plica::format::key;
use plica::format::postings::{Piece, Posting, PostingValue};
use plica::format::state::IndexState;
use plica::format::{chunk, idset};

/// The greatest sum.
const MOST: u64 = (1 << 60) - 1;

fn is(kind: u8) -> impl Fn(&[u8]) -> bool {
    move |key| key[0] == kind
}

/// The golden file with the newest head of document 0 changed.
fn with_head(change: impl FnOnce(&mut DocumentHead)) -> Forge {
    let mut forge = golden(0);
    forge.value(
        |key| key == key::numbered(key::DOCUMENT, 0),
        |value| {
            let mut head = DocumentHead::decode(0, value).unwrap();
            change(&mut head);
            value.clear();
            head.encode(value);
        },
    );
    forge
}

fn with_state(change: impl FnOnce(&mut IndexState)) -> Trial {
    let mut forge = golden(0);
    forge.state(change);
    Trial::of(&forge)
}

/// 2^32 chunks cannot be written in a varint of 32 bits; the nearest is one less.
#[test]
fn a_chunk_count_of_4_g() {
    let forge = with_head(|head| (head.chunks, head.first_chunk, head.last_chunk) = (u32::MAX, 0, u32::MAX));
    let trial = Trial::of(&forge);
    trial.is_found("chunk");
    assert!(trial.errors.iter().any(|(call, _)| *call == "text"), "{trial:?}");
    // Written as 2^32, it is no count.
    let mut forge = golden(0);
    forge.value(
        |key| key == key::numbered(key::DOCUMENT, 0),
        |value| {
            let head = DocumentHead::decode(0, value).unwrap();
            // Behind the hash lie bytes and words of text, and then the chunks.
            let at = value.windows(32).position(|bytes| bytes == head.content_hash).unwrap() + 32;
            let skipped =
                |value: &[u8], at: usize| at + value[at..].iter().position(|byte| byte & 128 == 0).unwrap() + 1;
            let start = skipped(value, skipped(value, at));
            let end = skipped(value, start);
            value.splice(start..end, [0x80, 0x80, 0x80, 0x80, 0x10]);
        },
    );
    Trial::of(&forge).is_found("document head");
}

#[test]
fn counts_of_a_document_that_disagree_with_what_there_is() {
    for (words, change) in [
        ("chunks, and other places", (|head| head.chunks -= 1) as fn(&mut DocumentHead)),
        ("expected chunk ids that agree", |head| head.last_chunk = head.first_chunk),
        ("tokens: the head says", |head| head.text_tokens += 1),
        ("tokens: the head says 1152921504606846975", |head| head.text_tokens = MOST),
        ("a sum below 2^60", |head| head.text_tokens = u64::MAX),
        ("words: the head says", |head| head.words = MOST),
        ("bytes of text: the head says", |head| head.text_bytes = MOST),
        ("the hash of its head", |head| head.content_hash[31] ^= 1),
        ("level-1 summaries: the head says", |head| head.summaries = u32::MAX),
        ("tokens of level-1 summaries: the head says", |head| head.summary_tokens = MOST),
        ("open pages, its chunk count implies", |head| head.pages.push(head.pages[0])),
        ("is \"other\" and is listed as \"letters\"", |head| head.id = "other".into()),
    ] {
        let trial = Trial::of(&with_head(change));
        trial.is_found(words);
    }
}

#[test]
fn counts_of_entities_that_disagree() {
    let trial = Trial::of(&with_head(|head| head.entities -= 1));
    trial.is_found("the documents sum up to");
    let trial = Trial::of(&with_head(|head| {
        (head.entities, head.first_entity, head.last_entity) = (u32::MAX, 0, u32::MAX);
        head.entity_tokens = [MOST; 3];
    }));
    trial.is_found("the documents sum up to");
    assert!(trial.errors.iter().any(|(call, error)| *call == "search" && error.is_damage()), "{trial:?}");
}

#[test]
fn sums_of_a_state_that_disagree() {
    with_state(|state| state.totals.documents += 9).is_refused_as_damaged("sums within the numbers given");
    with_state(|state| state.totals.chunks = MOST).is_refused_as_damaged("sums within the numbers given");
    with_state(|state| state.staged = u32::MAX).is_refused_as_damaged("sums within the numbers given");
    with_state(|state| state.totals.text_tokens = MOST).is_found("the documents sum up to");
    with_state(|state| state.totals.summary_tokens = u64::MAX).is_refused_as_damaged("a sum below 2^60");
    with_state(|state| state.totals.documents -= 1).is_found("the documents sum up to");
}

/// Document numbers have gaps where documents were removed before a vacuum, so they may be any; they must cost nothing. Chunks and
/// entities have rows, so there are no more of them than bytes.
#[test]
fn numbers_given_up_to_4_g() {
    let trial = with_state(|state| state.documents = u32::MAX);
    assert!(trial.errors.is_empty() && trial.findings.is_empty(), "{trial:?}");
    with_state(|state| state.chunks = u32::MAX).is_refused_as_damaged("4294967295 chunks and");
    with_state(|state| state.entities = u32::MAX).is_refused_as_damaged("4294967295 entities were");
}

#[test]
fn an_entity_of_4_g_parts() {
    let mut forge = golden(0);
    forge.value(is(key::ENTITY_ROWS), |value| {
        let mut rows = decode_rows(0, value).unwrap();
        rows[0].parts = u32::MAX;
        value.clear();
        encode_rows(&rows, value);
    });
    Trial::of(&forge).is_found("is missing");
}

#[test]
fn a_set_with_chunks_beyond_the_chunk_count() {
    let mut forge = golden(0);
    forge.value(is(key::ENTITY_CHUNKS), |value| {
        value.clear();
        idset::encode(&[0, 60_000, 65_535], value).unwrap();
    });
    Trial::of(&forge).is_found("does not link back");
}

/// All 65,536 numbers of a piece take 15 bytes, and 4 G of them are 65,536 such keys. Here are as many as a leaf holds, for one
/// entity; those beyond the chunks that there can be are not read.
#[test]
fn a_set_of_all_ids_that_there_could_be() {
    let mut forge = golden(0);
    // As many chunks as can be believed.
    forge.state(|state| state.chunks = 40_000);
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let mut set = Vec::new();
    idset::encode(&all, &mut set).unwrap();
    let (leaf, at) = forge.seek(is(key::ENTITY_CHUNKS));
    let mut entries = forge.entries(leaf);
    let prefix = entries[at].0[..5].to_vec();
    entries.retain(|(key, _)| !key.starts_with(&prefix));
    for piece in 0..400u16 {
        entries.push(([&prefix[..], &piece.to_be_bytes()].concat(), set.clone()));
    }
    entries.sort();
    forge.set_entries(leaf, &entries);
    let trial = Trial::of(&forge);
    trial.is_found("chunk");
}

#[test]
fn a_list_with_chunks_beyond_the_chunk_count() {
    let mut forge = golden(0);
    forge.value(
        |key| key == key::Field::Text.key("anna"),
        |value| {
            value.clear();
            plica::format::postings::encode(&[Posting { id: u32::MAX, frequency: u32::MAX }], None, value).unwrap();
        },
    );
    Trial::of(&forge).is_found("behind the last chunk");
}

/// Two hundred pieces that are all the same block.
#[test]
fn a_piece_of_a_list_that_is_not_what_is_said_of_it() {
    let mut forge = golden(0);
    let mut list = Vec::new();
    let postings: Vec<Posting> = (0..40).map(|id| Posting { id, frequency: 1 }).collect();
    plica::format::postings::encode(&postings, None, &mut list).unwrap();
    let head = forge.head();
    let reference = forge.add(head, BlockKind::Postings, list);
    let piece = |first_id| Piece { first_id, last_id: first_id + 39, count: 40, bound: None, reference };
    let pieces: Vec<Piece> = (0..200).map(|at| piece(at * 40)).collect();
    let mut value = Vec::new();
    PostingValue::encode_pieces(&pieces, &mut value).unwrap();
    forge.add_segment(&[(key::Field::Text.key("anna"), value)]);
    let trial = Trial::of(&forge);
    let error = trial.errors.iter().find(|(call, _)| *call == "search").expect("no answer");
    assert!(error.1.is_damage() && error.1.to_string().contains("expected ids 40 to 79"), "{trial:?}");
    assert!(!trial.findings.is_empty());
}

#[test]
fn chunks_that_two_documents_claim() {
    let mut forge = golden(0);
    forge.value(is(key::CHUNK_PLACES), |value| {
        let mut rows = chunk::decode_places(0, value).unwrap();
        rows.iter_mut().for_each(|row| row.document ^= 1);
        value.clear();
        chunk::encode_places(&rows, value);
    });
    Trial::of(&forge).is_found("chunks, and other places");
}
