//! Taking documents out of an index again.
//!
//! Nothing that was committed is changed; a removal says what no longer counts. The head says *removed*, the id is
//! taken back, each posting of the document's chunks, records and summaries gets a tombstone (frequency 0), and its
//! records ([`crate::records`]) go as one by one. So every answer and every statistic is at once that of an index in
//! which the document never was. The bytes stay until a vacuum.
//!
//! Documents are walked chunk by chunk, record by record; what is written on the way is flushed when the memory budget
//! is reached, and becomes visible with the commit alone.
//!
//! *An index-wide memory* does not remember who else told a fact: what one document told first was passed over when the
//! next one told it again. So what the removed document told goes, and a record goes when nothing else is linked to it.

use super::parts::Part;
use super::quote::Quotes;
use super::tail::read_page;
use super::view::{View, inconsistent};
use super::writer::Writer;
use crate::dictionary::Dictionary;
use crate::{Error, Result};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::{Addition, EntityRow, decode_part, encode_part};
use plica_format::fold::{Children, Expected, cover, open_pages};
use plica_format::key::{self, Field, INDEX_SCOPE, PLACES_A_BLOCK, ROWS_A_BLOCK, RecordKey};
use plica_format::page::MemoryScope;
use plica_format::state::IndexState;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// An index as it was when a removal began, apart from the writer that changes it.
pub(super) struct Before {
    dictionary: Dictionary,
    state: IndexState,
    fanout: u8,
}

impl Before {
    fn view(&self) -> View<'_> {
        View::over(&self.dictionary, &self.state, self.fanout)
    }
}

impl Writer {
    /// Removes a document. From the next commit on it is in no answer and in no statistic; scores are to the bit those of
    /// an index in which it never was (with an index-wide memory, see `format/SPEC.md`). Its bytes stay in the file until
    /// a vacuum. A document that is not published can be removed, too. The id may be used again.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown id: nothing was changed. After any other error what was added since the last
    /// commit is gone, as after a failed commit.
    pub fn remove_document(&mut self, id: &str) -> Result<()> {
        let standing = self.standing(id)?;
        let replacement = self.view().replacement_number(id)?;
        if standing.is_none() && replacement.is_none() {
            return Err(Error::NotFound { what: "document", name: id.to_owned() });
        }
        self.whole(|writer| {
            writer.replacing.remove(id);
            for number in [standing, replacement].into_iter().flatten() {
                writer.remove_number(number)?;
            }
            Ok(())
        })
    }

    /// Does what must not be left half done: after an error, what was added since the last commit is dropped.
    pub(super) fn whole<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        match work(self) {
            Err(error @ (Error::InDoubt { .. } | Error::Unusable { .. })) => Err(error),
            Err(error) => {
                self.rollback()?;
                Err(error)
            }
            done => done,
        }
    }

    /// Removes the document with this number.
    pub(super) fn remove_number(&mut self, number: u32) -> Result<()> {
        self.outlines.remove(&number);
        // What is read is what the segments hold. Removing another document before has changed none of it.
        let is_written = self.delta.only_removes()
            && self.texts.rows.is_empty()
            && self.open.get(&number).is_none_or(|open| !open.dirty)
            && self.parameters.memory == MemoryScope::Document;
        if !is_written {
            self.flush()?;
        }
        let head = self.head_of(number)?;
        let before =
            Before { dictionary: self.dictionary.clone(), state: self.state.clone(), fanout: self.parameters.fanout };
        if self.view().document_number(&head.id)? == Some(number) {
            self.delta.put(key::named(key::DOCUMENT_ID, head.id.as_bytes()), Vec::new());
        }
        if self.view().replacement_number(&head.id)? == Some(number) {
            self.delta.put(key::named(key::REPLACEMENT, head.id.as_bytes()), Vec::new());
        }
        self.take_texts(&before, &head)?;
        self.take_summaries(&before, &head)?;
        match self.parameters.memory {
            MemoryScope::Document => self.take_own_memory(&before, &head)?,
            MemoryScope::Index => self.take_told(&before, &head)?,
        }
        self.take_records(&before, number)?;
        if head.state == DocumentState::Staged {
            self.state.staged -= 1;
        }
        self.chunks = self.chunks.saturating_sub(u64::from(head.chunks));
        let open = self.open_document(number)?;
        open.head.state = DocumentState::Removed;
        open.dirty = true;
        // All before this removal is flushed or came from removals.
        self.delta.note_removal();
        self.flush_if_full()
    }

    /// Tombstones for the terms of all chunks.
    fn take_texts(&mut self, before: &Before, head: &DocumentHead) -> Result<()> {
        if head.chunks == 0 {
            return Ok(());
        }
        let view = before.view();
        for block in head.first_chunk / PLACES_A_BLOCK..=head.last_chunk / PLACES_A_BLOCK {
            let first = block * PLACES_A_BLOCK;
            let places =
                view.places(first.max(head.first_chunk), (first + (PLACES_A_BLOCK - 1)).min(head.last_chunk))?;
            for place in places.iter().filter(|place| place.document == head.number) {
                let (title, text) = view.text(&view.text_row(place.chunk)?)?;
                self.take_unit(Field::Text, place.chunk, &[&title, &text]);
                self.flush_if_full()?;
            }
        }
        Ok(())
    }

    /// Tombstones for the terms of a unit.
    fn take_unit(&mut self, field: Field, unit: u32, texts: &[&str]) {
        let counts = self.counter.count(texts);
        for (term, hash, _) in counts.iter() {
            self.delta.post_hashed(field, term, hash, unit, 0);
        }
    }

    /// Tombstones for the terms of the level-1 summaries.
    fn take_summaries(&mut self, before: &Before, head: &DocumentHead) -> Result<()> {
        if head.summaries == 0 {
            return Ok(());
        }
        let (view, fanout) = (before.view(), self.parameters.fanout);
        let mut waiting: Vec<_> =
            head.pages.iter().copied().zip(open_pages(head.number, fanout, head.chunks)).collect();
        while let Some((reference, expected)) = waiting.pop() {
            let page = read_page(view, fanout, &reference, expected)?;
            let Children::Nodes(nodes) = page.children else { continue };
            let level = page.level - 1;
            let count = cover(fanout, level).unwrap_or(u32::MAX);
            for (at, node) in (0u32..).zip(nodes) {
                let expected = Expected { level, first: page.first + at * count, count, ..expected };
                if level > 1 {
                    waiting.push((node.page, expected));
                } else if let Some(summary) = node.summary {
                    let Children::Chunks(chunks) = read_page(view, fanout, &node.page, expected)?.children else {
                        return Err(inconsistent("a page of level 1 without chunks"));
                    };
                    if let Some(&unit) = chunks.first() {
                        let summary = Quotes::new(view, head.number).summary(&summary)?;
                        self.take_unit(Field::Summary, unit, &[&summary]);
                        self.flush_if_full()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Tombstones for the terms of the records of the document's own memory.
    fn take_own_memory(&mut self, before: &Before, head: &DocumentHead) -> Result<()> {
        if head.entities == 0 {
            return Ok(());
        }
        let view = before.view();
        for block in head.first_entity / ROWS_A_BLOCK..=head.last_entity / ROWS_A_BLOCK {
            let first = block * ROWS_A_BLOCK;
            for row in view.entity_rows(first, first + (ROWS_A_BLOCK - 1))? {
                if row.scope != head.number {
                    continue;
                }
                for part in 0..row.parts {
                    for part in view.part(row.entity, part)? {
                        self.take_terms_of(row.entity, &part);
                    }
                    self.flush_if_full()?;
                }
            }
        }
        Ok(())
    }

    /// Tombstones for the terms of a part of a record that goes whole.
    fn take_terms_of(&mut self, entity: u32, part: &Part) {
        self.take_unit(Field::Name, entity, &[&part.name]);
        for (field, texts) in [(Field::Aliases, &part.aliases), (Field::Descriptions, &part.descriptions)] {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            self.take_unit(field, entity, &texts);
        }
    }

    /// The records of the document, one by one.
    fn take_records(&mut self, before: &Before, number: u32) -> Result<()> {
        before.dictionary.each_newest(&key::numbered(key::RECORD_OF_DOCUMENT, number), b"", |bytes, value| {
            if !value.is_empty() {
                let (record, _) =
                    RecordKey::parse(bytes).ok_or_else(|| inconsistent("a key of a record in no form"))?;
                self.take_row(number, record.row())?;
                self.flush_if_full()?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// What the document told an index-wide memory.
    fn take_told(&mut self, before: &Before, head: &DocumentHead) -> Result<()> {
        let number = head.number;
        let linked = before.view().set(&key::numbered(key::DOCUMENT_ENTITIES, number))?;
        let mut touched: BTreeSet<u32> = linked.into_iter().collect();
        // A record that was given without a chunk is linked to nothing.
        before.dictionary.each_newest(&[key::ENTITY_PART], b"", |bytes, value| {
            let part = decode_part(value).map_err(super::view::damaged_value(key::ENTITY_PART))?;
            if part.iter().any(|addition| addition.document == number) {
                touched.extend(key::first_number(bytes));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for entity in touched {
            // What is gone already leaves its parts behind.
            let rows = self.view().entity_rows(entity, entity)?;
            if let Some(row) = rows.first() {
                self.take_told_of(before, head, *row)?;
                self.flush_if_full()?;
            }
        }
        Ok(())
    }

    /// What the document told of one record.
    fn take_told_of(&mut self, before: &Before, head: &DocumentHead, mut row: EntityRow) -> Result<()> {
        let (view, entity) = (before.view(), row.entity);
        let links = key::numbered(key::ENTITY_CHUNKS, entity);
        let linked = view.set(&links)?;
        let mut others = BTreeSet::new();
        for &chunk in &linked {
            let outside = !(head.first_chunk..=head.last_chunk).contains(&chunk) || head.chunks == 0;
            if outside || view.place(chunk)?.document != head.number {
                others.insert(chunk);
            }
        }
        let mut stays = !others.is_empty();
        for part in 0..row.parts {
            let gone = Addition { document: INDEX_SCOPE, ..Addition::default() };
            let part = view.stored_part(entity, part)?;
            stays |= part.iter().any(|addition| addition.document != head.number && *addition != gone);
        }
        let mut first_kind = 0;
        for number in 0..row.parts {
            let mut additions = view.stored_part(entity, number)?;
            let mut changed = false;
            for addition in &mut additions {
                if addition.document != head.number && stays {
                    if first_kind == 0 && !addition.kind.is_empty() {
                        first_kind = number + 1;
                    }
                    continue;
                }
                let part = view.read_addition(addition.clone())?;
                for alias in &part.aliases {
                    let set = key::entity_alias(row.scope, &crate::text::key(alias));
                    let had = self.view().set(&set)?;
                    let left = had.iter().copied().filter(|&other| other != entity).collect();
                    self.delta.replace(set, &had, left);
                }
                // That the descriptions stay noted costs a look into the parts when one comes again.
                if !stays {
                    self.take_terms_of(entity, &part);
                    continue;
                }
                let lost = [
                    self.lower_terms(Field::Aliases, entity, &part.aliases)?,
                    self.lower_terms(Field::Descriptions, entity, &part.descriptions)?,
                ];
                for (at, tokens) in lost.into_iter().enumerate() {
                    if let Some(total) = row.tokens.get_mut(at + 1) {
                        *total = total.saturating_sub(tokens);
                    }
                    if let Some(total) = self.state.totals.entity_tokens.get_mut(at + 1) {
                        *total = total.saturating_sub(u64::from(tokens));
                    }
                }
                // A record keeps the name by which it was created.
                *addition = Addition { document: INDEX_SCOPE, name: part.name, ..Addition::default() };
                changed = true;
            }
            if changed {
                let mut value = Vec::new();
                encode_part(&additions, &mut value);
                self.delta.put(key::numbered2(key::ENTITY_PART, entity, number), value);
                self.shown.remove(&(entity, number));
            }
        }
        if stays {
            row.kind_part = first_kind;
            if others.len() < linked.len() {
                self.delta.replace(links, &linked, others);
            }
        } else {
            let name = crate::text::key(&view.name_of(entity)?);
            self.delta.put(key::entity_name(row.scope, &name), Vec::new());
            let totals = &mut self.state.totals;
            totals.entities = totals.entities.saturating_sub(1);
            for (total, tokens) in totals.entity_tokens.iter_mut().zip(row.tokens) {
                *total = total.saturating_sub(u64::from(tokens));
            }
            row = EntityRow { parts: 0, kind_part: 0, tokens: [0; 3], ..row };
        }
        self.delta.put_entity_row(row);
        Ok(())
    }

    /// Lowers the frequencies of the terms of `texts` in a field of a record, and gives how many tokens there are.
    fn lower_terms(&mut self, field: Field, entity: u32, texts: &[String]) -> Result<u32> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let counts = self.counter.count(&texts);
        for (term, hash, count) in counts.iter() {
            let Ok(text) = std::str::from_utf8(term) else { continue };
            let before = self.view().postings(field, text, entity, entity)?;
            let before = before.first().map_or(0, |posting| posting.frequency);
            self.delta.post_hashed(field, term, hash, entity, before.saturating_sub(count));
        }
        Ok(counts.tokens())
    }
}

#[cfg(test)]
mod tests {
    use crate::dictionary::{Dictionary, MergeCursor, load_value};
    use crate::index::view::read_postings;
    use crate::ingest::{EntityUpdate, RecordUpdate};
    use crate::{Index, Limits, NewChunk, Options, Origin, Writer};
    use plica_format::key::{Field, POSTINGS};
    use plica_format::postings::{Posting, PostingValue};
    use std::collections::BTreeMap;

    /// For each term of texts: postings less tombstones over all segments, and tombstones.
    fn counted(dictionary: &Dictionary) -> BTreeMap<Vec<u8>, (i64, u64)> {
        let mut counts: BTreeMap<Vec<u8>, (i64, u64)> = BTreeMap::new();
        let mut cursor = MergeCursor::new(dictionary, &dictionary.segments, &[POSTINGS]).unwrap();
        while let Some(key) = cursor.key().filter(|key| key[0] == POSTINGS) {
            if Field::of_key(&key).unwrap().0 != Field::Text {
                cursor.take(&key, |_, _| Ok(())).unwrap();
                continue;
            }
            let (sum, tombstones) = counts.entry(key.clone()).or_default();
            cursor
                .take(&key, |leaf, stored| {
                    load_value(&dictionary.blocks, leaf, stored, |value| {
                        let mut postings: Vec<Posting> = Vec::new();
                        let value = PostingValue::decode(value).unwrap();
                        read_postings(dictionary, &value, 0, u32::MAX, &mut postings)?;
                        for posting in postings {
                            *sum += if posting.frequency > 0 { 1 } else { -1 };
                            *tombstones += u64::from(posting.frequency == 0);
                        }
                        Ok(())
                    })
                })
                .unwrap();
        }
        counts
    }

    #[test]
    fn many_documents_go_in_one_segment_as_they_go_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let mut writer = Writer::create(folder.path().join(name), &Options::new().fanout(2)).unwrap();
            for at in 0..40u32 {
                let id = format!("d{at}");
                writer.add_document(&id, "", "").unwrap();
                for chunk in 0..5 {
                    let text = format!("word{} word{} common of every one", (at * 3 + chunk) % 11, at % 5);
                    let ordinal = writer.append_chunk(&id, &NewChunk::text(&text)).unwrap().ordinal;
                    let update = EntityUpdate { name: format!("N{}", at % 3), ..EntityUpdate::default() };
                    writer.apply_update(&id, ordinal, &[update]).unwrap();
                }
                let record = RecordUpdate {
                    entity: format!("N{}", at % 3),
                    label: "likes".into(),
                    value: format!("{}", at % 7),
                    ..RecordUpdate::default()
                };
                writer.add_record(&id, &record, &[0]).unwrap();
                writer.set_summary(&id, 1, 0, &format!("A summary of {at}."), Origin::Model).unwrap();
                writer.publish(&id).unwrap();
            }
            writer.commit().unwrap();
            writer
        };
        let exported = |writer: &Writer| {
            let snapshot = Index::open(writer.path()).unwrap().snapshot();
            let report = snapshot.check(&Limits::default()).unwrap();
            assert!(report.findings.is_empty(), "{:#?}", report.findings);
            let mut lines = Vec::new();
            crate::interchange::export(&snapshot, &mut lines).unwrap();
            String::from_utf8(lines).unwrap()
        };
        let (mut at_once, mut singly) = (write("a.plica"), write("b.plica"));
        for at in 0..30 {
            let id = format!("d{}", at * 7 % 40);
            at_once.remove_document(&id).unwrap();
            singly.remove_document(&id).unwrap();
            singly.commit().unwrap();
            // What was changed since is taken away, too.
            if at == 20 {
                for writer in [&mut at_once, &mut singly] {
                    writer.append_chunk("d33", &NewChunk::text("late word3")).unwrap();
                    writer.set_summary("d33", 2, 0, "A late summary.", Origin::Model).unwrap();
                    writer.remove_document("d33").unwrap();
                }
            }
        }
        assert!(at_once.flushes <= 2, "{} segments", at_once.flushes);
        at_once.commit().unwrap();
        singly.commit().unwrap();
        assert_eq!(exported(&at_once), exported(&singly));
        let [first, second] = [at_once, singly].map(|writer| {
            let path = writer.path().to_owned();
            writer.vacuum(&Limits::default()).unwrap();
            counted(Index::open(path).unwrap().snapshot().view().dictionary)
        });
        assert_eq!(first, second);
    }

    #[test]
    fn postings_less_tombstones_are_the_chunks_that_have_a_term_at_every_commit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut writer = Writer::create(&path, &Options::new().fanout(2)).unwrap();
        let mut met = 0;
        for at in 0..160u32 {
            let id = format!("d{}", at % 7);
            if writer.is_published(&id).unwrap().is_none() {
                writer.add_document(&id, "", "").unwrap();
                writer.publish(&id).unwrap();
            }
            for chunk in 0..2 {
                let text = format!("word{} word{} common", (at * 3 + chunk) % 11, at % 5);
                writer.append_chunk(&id, &NewChunk::text(&text)).unwrap();
            }
            if at % 4 == 3 {
                writer.remove_document(&format!("d{}", at * 5 % 7)).unwrap_or_default();
            }
            // Merges that stop after any key, and go on later.
            writer.merge_budget = Some(u64::from(at % 3) * 400);
            writer.commit().unwrap();
            let snapshot = Index::open(&path).unwrap().snapshot();
            let view = snapshot.view();
            let mut tombstones = 0;
            for (key, (sum, taken)) in counted(view.dictionary) {
                let term = std::str::from_utf8(&key[1..]).unwrap();
                let live = view.postings(Field::Text, term, 0, u32::MAX).unwrap();
                assert_eq!(live.len() as i64, sum, "{term} after step {at}");
                for posting in live {
                    let place = view.place(posting.id).unwrap();
                    assert_eq!(snapshot.head_of(place.document).unwrap().state, super::DocumentState::Live);
                }
                tombstones += taken;
            }
            met = met.max(tombstones);
            if at % 40 == 39 {
                let report = snapshot.check(&Limits::default()).unwrap();
                assert!(report.findings.is_empty(), "{:#?}", report.findings);
            }
        }
        assert!(met > 0, "no tombstone was ever written");
        writer.vacuum(&Limits::default()).unwrap();
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert!(counted(snapshot.view().dictionary).values().all(|&(sum, tombstones)| sum > 0 && tombstones == 0));
    }
}
