//! What the measurements share: made-up text with a fixed seed, the corpora, clocks and counters, the peers, and the
//! table that is printed. The programs are in `bin/`; `README.md` says how to run them and what is fair in them.

pub mod clock;
pub mod corpus;
pub mod engine;
pub mod novels;
pub mod peer;
pub mod row;
pub mod table;
pub mod workload;

/// What anything here may fail with: nothing is handled, all is reported.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A small generator (xorshift64*), the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator; any seed but 0.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A rank, drawn as by Zipf's law with exponent 1 from `count` ranks.
    pub fn zipf(&mut self, count: u32) -> u32 {
        // The distribution function of 1/x on 1..count is ln x / ln count.
        let rank = (f64::from(count).ln() * self.unit()).exp();
        (rank as u32).min(count - 1)
    }
}

/// A word for a rank: frequent words are short.
pub fn word(rank: u32) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ha", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za"];
    let mut rest = rank;
    let mut out = String::new();
    loop {
        out.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
        if rest == 0 {
            return out;
        }
    }
}

/// Text of `words` words over a vocabulary of `vocabulary`.
pub fn text(random: &mut Random, words: u32, vocabulary: u32) -> String {
    let mut out = String::new();
    for at in 0..words {
        if at > 0 {
            out.push_str(if at % 12 == 0 { ". " } else { " " });
        }
        out.push_str(&word(random.zipf(vocabulary)));
    }
    out.push('.');
    out
}
