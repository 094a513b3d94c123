//! Stores of keys and values, holding one serialised roaring bitmap of chunks a key, or one text a key: redb, heed
//! (LMDB), a SQLite table with an ordered key, and a floor without any engine, an `fst` map over one run of bytes.

use crate::Result;
use heed::types::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use roaring::RoaringBitmap;
use rusqlite::Connection;
use std::path::Path;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("t");

/// Keys in order, each with a bitmap.
pub type Pairs = [(Vec<u8>, RoaringBitmap)];

/// A bitmap as it is stored.
pub fn serialised(bitmap: &RoaringBitmap) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(bitmap.serialized_size());
    bitmap.serialize_into(&mut bytes)?;
    Ok(bytes)
}

fn decoded(bytes: &[u8]) -> Result<RoaringBitmap> {
    Ok(RoaringBitmap::deserialize_from(bytes)?)
}

/// redb.
pub struct Redb {
    database: Database,
}

impl Redb {
    /// Opens or creates a database.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { database: Database::create(path)? })
    }

    /// Puts all pairs in one transaction.
    pub fn fill(&self, pairs: &Pairs) -> Result<()> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for (key, bitmap) in pairs {
                table.insert(key.as_slice(), serialised(bitmap)?.as_slice())?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// A table to read.
    pub fn reader(&self) -> Result<redb::ReadOnlyTable<&'static [u8], &'static [u8]>> {
        Ok(self.database.begin_read()?.open_table(TABLE)?)
    }

    /// Puts one pair and commits it durably.
    pub fn append(&self, key: u64, value: &[u8]) -> Result<()> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(TABLE)?.insert(key.to_be_bytes().as_slice(), value)?;
        Ok(transaction.commit()?)
    }
}

/// Gets a bitmap.
pub fn get(table: &impl ReadableTable<&'static [u8], &'static [u8]>, key: &[u8]) -> Result<RoaringBitmap> {
    let found = table.get(key)?.ok_or("no such key")?;
    decoded(found.value())
}

/// heed.
pub struct Heed {
    environment: heed::Env,
    database: heed::Database<'static, Bytes, Bytes>,
}

impl Heed {
    /// Opens or creates an environment in a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        // SAFETY: no other process or call opens this folder while this environment lives.
        let environment = unsafe { heed::EnvOpenOptions::new().map_size(64 << 30).open(folder)? };
        let transaction = environment.write_txn()?;
        let database = environment
            .create_databases_and_commit(transaction, |create, transaction| {
                heed::Result::Ok(heed::CommitOrAbort::<_, ()>::Commit(create.create_database(transaction, None)?))
            })?
            .unwrap_commit();
        Ok(Self { environment, database })
    }

    /// Puts all pairs in one transaction.
    pub fn fill(&self, pairs: &Pairs) -> Result<()> {
        let mut transaction = self.environment.write_txn()?;
        for (key, bitmap) in pairs {
            self.database.put(&mut transaction, key, &serialised(bitmap)?)?;
        }
        Ok(transaction.commit()?)
    }

    /// A transaction to read in.
    pub fn reader(&self) -> Result<heed::RoTxn<'_, heed::WithTls>> {
        Ok(self.environment.read_txn()?)
    }

    /// Gets a bitmap.
    pub fn get(&self, transaction: &heed::RoTxn<'_>, key: &[u8]) -> Result<RoaringBitmap> {
        decoded(self.database.get(transaction, key)?.ok_or("no such key")?)
    }
}

/// A SQLite table.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Creates a database with all pairs.
    pub fn filled(path: &Path, pairs: &Pairs) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA mmap_size=17179869184;
             CREATE TABLE t (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID; BEGIN",
        )?;
        {
            let mut insert = connection.prepare("INSERT INTO t VALUES (?1, ?2)")?;
            for (key, bitmap) in pairs {
                insert.execute((key, serialised(bitmap)?))?;
            }
        }
        connection.execute_batch("COMMIT")?;
        Ok(Self { connection })
    }

    /// Gets a bitmap.
    pub fn get(&self, key: &[u8]) -> Result<RoaringBitmap> {
        let mut select = self.connection.prepare_cached("SELECT value FROM t WHERE key = ?1")?;
        select.query_row([key], |row| Ok(decoded(row.get_ref(0)?.as_blob()?)))?
    }
}

/// No engine: a map from keys to places, and the bitmaps one behind another.
#[derive(Debug)]
pub struct Floor {
    places: fst::Map<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Floor {
    /// In memory, from pairs in the order of their keys.
    pub fn filled(pairs: &Pairs) -> Result<Self> {
        let (mut builder, mut bytes) = (fst::MapBuilder::memory(), Vec::new());
        for (key, bitmap) in pairs {
            builder.insert(key, bytes.len() as u64)?;
            bitmap.serialize_into(&mut bytes)?;
        }
        Ok(Self { places: builder.into_map(), bytes })
    }

    /// Gets a bitmap.
    pub fn get(&self, key: &[u8]) -> Result<RoaringBitmap> {
        let place = self.places.get(key).ok_or("no such key")?;
        decoded(self.bytes.get(place as usize..).ok_or("a place behind the end")?)
    }
}
