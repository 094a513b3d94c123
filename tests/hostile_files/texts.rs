//! Texts: bombs, rows that share bytes, and text that looks like a part of the file.

use crate::common::{Folder, assert_sound};
use crate::forge::Forge;
use crate::trial::{Trial, golden};
use plica::format::block::{BlockHeader, BlockKind, Codec, HEADER_BYTES, payload_checksum};
use plica::format::chunk::{decode_texts, encode_texts};
use plica::format::key;
use plica::{Error, Index, NewChunk, Options, TextQuery, Writer};

/// The golden file with a frame in the place of its first text block.
fn with_frame(frame: Vec<u8>, stated_raw: u32) -> Trial {
    let mut forge = golden(0);
    let text = forge.of_kind(BlockKind::Text)[0];
    forge.blocks[text].frame = Some(frame);
    forge.blocks[text].stated_raw = Some(stated_raw);
    Trial::of(&forge)
}

/// A frame of so many equal bytes, made longer by equal ones that it says less of.
fn bomb(raw: usize, stored: usize) -> Vec<u8> {
    let mut raw_bytes = vec![b'a'; raw];
    // What does not compress makes the frame as long as it must be for its content to be believed.
    let mut state = 1u32;
    for byte in raw_bytes.iter_mut().take(stored) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (state >> 24) as u8;
    }
    zstd::bulk::compress(&raw_bytes, 3).unwrap()
}

#[test]
fn a_zip_bomb_of_text() {
    // 1 MiB in a hundred bytes.
    let frame = bomb(1 << 20, 100);
    assert!(frame.len() < 300);
    with_frame(frame, 1 << 20).fails("text", "stored and raw lengths that fit the codec");
    // As much as may be believed, and then more than is said: the frame is decoded into what is said and no further.
    for said in [17_000, 200_000, (1 << 20) - 1] {
        let frame = bomb(1 << 20, 16_270);
        assert!((16_320..16_384).contains(&frame.len()), "{}", frame.len());
        with_frame(frame.clone(), said).fails("text", "a content size of");
        // The frame itself says so, too: single segment with a content size of four bytes.
        let mut lying = frame;
        assert_eq!(lying[4] >> 5, 0b101);
        lying[5..9].copy_from_slice(&said.to_le_bytes());
        let trial = with_frame(lying, said);
        assert!(trial.errors.iter().any(|(call, error)| *call == "text" && error.is_damage()), "{trial:?}");
        assert!(!trial.findings.is_empty());
    }
    // More than a block of the kind may have.
    with_frame(bomb(4 << 20, 16_000), 4 << 20).fails("text", "raw bytes in a text block");
    with_frame(bomb(1 << 20, 16_000), u32::MAX).fails("text", "raw bytes in a text block");
}

#[test]
fn a_frame_of_another_form() {
    let sound = bomb(1000, 200);
    for (change, words) in [
        ((|frame: &mut Vec<u8>| frame[4] &= !0x20) as fn(&mut Vec<u8>), "a single segment"),
        (|frame| frame[4] |= 3, "a single segment without dictionary"),
        (|frame| frame[0] ^= 1, "magic"),
        (|frame| frame.truncate(150), ""),
        (|frame| frame.extend_from_slice(&frame.clone()), ""),
        (|frame| frame.push(0), ""),
    ] {
        let mut frame = sound.clone();
        change(&mut frame);
        let trial = with_frame(frame, 1000);
        assert!(trial.findings.iter().any(|found| found.contains(words)), "{trial:?}");
        assert!(trial.errors.iter().any(|(call, error)| *call == "text" && error.is_damage()), "{trial:?}");
    }
}

/// All rows of a document are the whole of one block: as much again for each row of ten bytes, if it were believed.
#[test]
fn chunks_that_share_their_text() {
    let mut forge = golden(0);
    forge.value(
        |key| key[0] == key::CHUNK_TEXTS,
        |value| {
            let mut rows = decode_texts(0, value).unwrap();
            let first = rows[0].clone();
            for row in &mut rows {
                (row.block, row.offset, row.title_bytes, row.text_bytes) = (first.block, 0, 0, 20);
            }
            value.clear();
            encode_texts(&rows, value);
        },
    );
    Trial::of(&forge).fails("text", "starts before that of an earlier chunk ends");
}

#[test]
fn a_row_that_leaves_its_block() {
    for change in [
        (|row: &mut plica::format::chunk::TextRow| row.offset = 1 << 20) as fn(&mut _),
        |row| row.text_bytes = 262_144,
        |row| (row.title_bytes, row.text_bytes) = (262_144, 262_144),
    ] {
        let mut forge = golden(0);
        forge.value(
            |key| key[0] == key::CHUNK_TEXTS,
            |value| {
                let mut rows = decode_texts(0, value).unwrap();
                change(rows.last_mut().unwrap());
                value.clear();
                encode_texts(&rows, value);
            },
        );
        Trial::of(&forge).is_found("expected UTF-8 text of chunk");
    }
}

#[test]
fn a_dictionary_that_is_none() {
    let mut forge = golden(0);
    let head = forge.head();
    let dictionary = forge.add(head, BlockKind::Dictionary, b"no dictionary of zstd".to_vec());
    forge.state(|state| state.dictionary = Some(dictionary));
    let trial = Trial::of(&forge);
    // Nothing is compressed with it, so nobody needs it; one that others were would fail them.
    assert!(trial.errors.iter().all(|(_, error)| error.is_damage()), "{trial:?}");
    forge.state(|state| {
        state.dictionary = Some(plica::format::block::Reference { stored_bytes: 131_073, ..dictionary })
    });
    Trial::of(&forge).is_refused_as_damaged("a stored length within the kind's limit");
}

/// A chunk whose text is, at a multiple of 16 bytes of the file, a whole block: header, right checksums, payload.
///
/// A text is UTF-8, so its author must find a block that is, and must know file id and place. All bytes of this one are ASCII.
fn text_with_a_block(place: u64, file_id: &[u8; 16], before: &str) -> String {
    let payload = (0u32..)
        .map(|n| format!("{n:016}"))
        .find(|payload| payload_checksum(payload.as_bytes()).to_le_bytes().iter().all(u8::is_ascii_graphic))
        .unwrap();
    let header = (0u64..)
        .map(|n| BlockHeader {
            kind: BlockKind::Text,
            codec: Codec::Stored,
            stored_bytes: 16,
            raw_bytes: 16,
            payload_checksum: payload_checksum(payload.as_bytes()),
            salt: u64::from_le_bytes(format!("{n:08}").as_bytes().try_into().unwrap()),
        })
        .map(|header| header.encode(file_id, place))
        .find(|header| header[28..].iter().all(u8::is_ascii_graphic))
        .unwrap();
    format!("{before}{}{payload}. The end of it.", std::str::from_utf8(&header).unwrap())
}

#[test]
fn a_chunk_that_holds_a_block() {
    let folder = Folder::new();
    let file_id = *b"a file of tests!";
    let before = "The lamp, a block: ".to_owned() + &"-".repeat(13);
    let write = |name: &str, text: &str| {
        let path = folder.path(name);
        let mut writer = Writer::create(&path, &Options::new().timestamps(false).file_id(file_id)).unwrap();
        writer.add_document("a", "", "").unwrap();
        writer.append_chunk("a", &NewChunk::text(text)).unwrap();
        writer.publish("a").unwrap();
        writer.commit().unwrap();
        Forge::new(&std::fs::read(&path).unwrap())
    };
    // The first block behind the commit of the creation is the text's.
    let place_of = |forge: &Forge| forge.blocks[forge.of_kind(BlockKind::Text)[0]].name.offset + HEADER_BYTES as u64;
    let place = place_of(&write("first.plica", &before)) + before.len() as u64;
    assert!(place.is_multiple_of(16));
    let text = text_with_a_block(place, &file_id, &before);
    let mut forge = write("second.plica", &text);
    let number = forge.of_kind(BlockKind::Text)[0];
    forge.unpack(number);
    let file = forge.build();
    // It is a block, to whoever looks there.
    let header = BlockHeader::decode(&file[place as usize..][..HEADER_BYTES], &file_id, place).unwrap();
    assert_eq!((header.kind, header.stored_bytes), (BlockKind::Text, 16));

    let snapshot = Index::from_bytes(file.clone()).unwrap().snapshot();
    assert_sound(&snapshot);
    let report = snapshot.check(&plica::Limits::default()).unwrap();
    assert_eq!(report.blocks, forge.blocks.len() as u64);
    assert_eq!(snapshot.text("a").unwrap(), text);
    let hits = snapshot.text_search(&TextQuery::new("PlBk")).unwrap();
    assert_eq!(hits.len(), 1, "{hits:?}");

    // Where the block around it is damaged, what is in it does not take its place.
    let mut bad = file;
    bad[place as usize - before.len() - 1] ^= 1;
    let trial = Trial::of_bytes(bad);
    trial.is_found("block header");
    let text = trial.errors.iter().find(|(call, _)| *call == "text").expect("no text");
    assert!(matches!(text.1, Error::Damaged { .. }), "{trial:?}");
}
