//! From an alias to the set of chunks that tell of its entities, in one document's memory.
//!
//! The stores hold a serialised roaring bitmap under the document's number and the alias; a call gets it and decodes it,
//! within a transaction that is open. The floor is an `fst` map and the same bitmaps in memory. For Plica see
//! [`engine::chunks_of_alias`].

use super::{Files, Run};
use crate::clock::{Call, interleaved};
use crate::corpus::document_id;
use crate::peer::keyvalue::{Floor, Heed, Redb, Sqlite, get};
use crate::table::{Column, Row, Table, Target, micros};
use crate::{Random, Result, engine};
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// Aliases that are asked for.
const QUESTIONS: usize = 2000;

/// Times the look-up; novels have no aliases that are known here, and no row.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let corpus = &files.corpus;
    if !corpus.is_made() {
        return Ok(());
    }
    let (mut sets, mut asked): (BTreeMap<Vec<u8>, RoaringBitmap>, Vec<(String, String)>) = Default::default();
    for (document, range) in corpus.documents().iter().enumerate() {
        for given in corpus.entities(document, range.len()) {
            for alias in given.entity.aliases {
                let chunks = given.ordinals.iter().map(|ordinal| range.start as u32 + ordinal);
                sets.entry(key(document, &alias)).or_default().extend(chunks);
                asked.push((document_id(document), alias));
            }
        }
    }
    let pairs: Vec<(Vec<u8>, RoaringBitmap)> = sets.into_iter().collect();
    crate::clock::shuffle(&mut asked, &mut Random::new(3));
    asked.truncate(QUESTIONS);
    let keys: Vec<Vec<u8>> = asked
        .iter()
        .map(|(id, alias)| Ok(key(id[1..].parse()?, alias)))
        .collect::<Result<_>>()?;

    let redb = Redb::open(&run.path("alias.redb")?)?;
    redb.fill(&pairs)?;
    let heed = Heed::open(&run.path("alias.heed")?)?;
    heed.fill(&pairs)?;
    let sqlite = Sqlite::filled(&run.path("alias.sqlite")?, &pairs)?;
    let floor = Floor::filled(&pairs)?;
    let (table_of_redb, transaction) = (redb.reader()?, heed.reader()?);
    let snapshot = engine::open(&files.plica)?;
    let vacuumed = files.vacuumed.as_deref().map(engine::open).transpose()?;

    let found = |at: usize| engine::chunks_of_alias(&snapshot, &asked[at].0, &asked[at].1);
    for at in 0..asked.len() {
        let (own, right) = (found(at)?, floor.get(&keys[at])?.len());
        if own != right {
            return Err(format!("{:?} has {own} chunks in Plica, and {right} were given", asked[at]).into());
        }
    }
    let mut calls: Vec<Call<'_>> = vec![
        Box::new(found),
        Box::new(|at| Ok(get(&table_of_redb, &keys[at])?.len())),
        Box::new(|at| Ok(heed.get(&transaction, &keys[at])?.len())),
        Box::new(|at| Ok(sqlite.get(&keys[at])?.len())),
        Box::new(|at| Ok(floor.get(&keys[at])?.len())),
    ];
    if let Some(snapshot) = &vacuumed {
        calls.push(Box::new(|at| engine::chunks_of_alias(snapshot, &asked[at].0, &asked[at].1)));
    }
    let times = interleaved(asked.len(), run.rounds, run.limit, &mut calls)?;
    drop(calls);
    let [plica, of_redb, of_heed, of_sqlite, of_floor] = [0, 1, 2, 3, 4].map(|at| times[at].median());
    let segments = |snapshot| Ok::<_, crate::Result<()>>(engine::segments(snapshot).unwrap_or_default());
    let told = |median, snapshot| format!("{} ({} segments)", micros(median), segments(snapshot).unwrap_or_default());
    // One segment is what the target is about: a vacuumed file where there is one.
    let judged = times.get(5).map_or(plica, |times| times.median());
    table.push(
        Row::new(format!("alias → chunks, {}, {} aliases", run.label(corpus.len()), super::count(pairs.len())))
            .cell(Column::Built, told(plica, &snapshot))
            .maybe(Column::Vacuumed, times.get(5).zip(vacuumed.as_ref()).map(|(t, s)| told(t.median(), s)))
            .cell(Column::Redb, micros(of_redb))
            .cell(Column::Heed, micros(of_heed))
            .cell(Column::Sqlite, micros(of_sqlite))
            .cell(Column::Floor, format!("fst and roaring: {}", micros(of_floor)))
            .ratio("× redb", of_redb / judged, Some(Target::Least(1.0)))
            .ratio("of the floor", judged / of_floor, Some(Target::Most(1.5)))
            .ratio("× SQLite", of_sqlite / judged, Some(Target::Least(3.0)))
            .ratio("× heed", of_heed / judged, None),
    );
    drop(transaction);
    for name in ["alias.redb", "alias.heed", "alias.sqlite"] {
        super::remove(&run.folder.join(name))?;
    }
    Ok(())
}

fn key(document: usize, alias: &str) -> Vec<u8> {
    let mut key = (document as u32).to_be_bytes().to_vec();
    key.extend_from_slice(alias.as_bytes());
    key
}
