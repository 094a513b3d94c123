//! Words with a grammatical duty, and head nouns that tell what kind of thing a name stands for.
//!
//! Closed classes of English (pronouns, prepositions, titles, months) and the commonest heads of definitions. A word
//! that is not listed is simply not known: no list decides alone that something is a name.

use std::sync::LazyLock;

/// Bits of what is known of a word in small letters.
pub(super) const FUNCTION: u16 = 1;
/// May stand small within a name ("of", "de").
pub(super) const CONNECTOR: u16 = 1 << 1;
pub(super) const MONTH: u16 = 1 << 2;
/// Stands before a person's name ("Mr.", "Sir").
pub(super) const HONORIFIC: u16 = 1 << 3;
/// An honorific of a woman.
pub(super) const FEMALE: u16 = 1 << 4;
pub(super) const PERSON: u16 = 1 << 5;
pub(super) const PLACE: u16 = 1 << 6;
pub(super) const ORGANISATION: u16 = 1 << 7;
pub(super) const WORK: u16 = 1 << 8;
pub(super) const EVENT: u16 = 1 << 9;
/// Heads a part of a text ("chapter", "introduction"), so it names nothing.
pub(super) const HEADING: u16 = 1 << 10;
/// Ends the head of a noun phrase ("of", "who", "located").
pub(super) const PHRASE_END: u16 = 1 << 11;
/// A relation of which a person has one ("mother", "husband").
pub(super) const ONE_OF: u16 = 1 << 12;
/// A verb that links a name with what it is.
pub(super) const COPULA: u16 = 1 << 13;
/// What people do: beside a name, a sign of a person.
pub(super) const UTTERS: u16 = 1 << 14;

const LISTS: &[(u16, &str)] = &[
    (
        FUNCTION,
        "a an the and or but nor so yet if then else than that this these those there here thus hence i me my mine \
         myself we us our ours ourselves you your yours yourself yourselves thou thee thy thine he him his himself she \
         her hers herself it its itself they them their theirs themselves one oneself who whom whose which what when \
         where why how whoever whatever whichever whenever wherever however am is are was were be been being do does \
         did done doing have has had having can could may might must shall should will would ought need dare not no \
         yes nay oh ah eh ha hush alas aye o hello hi ok okay please of in on at by for from to into onto upon with \
         within without about above across after against along alongside among amongst amid around as before behind \
         below beneath beside besides between beyond despite down during except inside like near off out outside over \
         past per since through throughout till toward towards under underneath until unlike up via while whilst \
         although though because unless whereas whether lest once both either neither each every all any some none few \
         many much more most several such other others another same own only also too very just even still again ever \
         never always often sometimes usually now today tomorrow yesterday soon later already almost quite rather \
         perhaps maybe indeed therefore moreover furthermore nevertheless nonetheless otherwise instead meanwhile \
         finally originally initially eventually recently currently presently formerly previously subsequently \
         additionally similarly likewise specifically especially particularly generally typically traditionally \
         historically overall together well first second third fourth fifth last next two three four five six seven \
         eight nine ten eleven twelve hundred thousand million half nothing something anything everything nobody \
         somebody anybody everybody someone anyone everyone nowhere somewhere anywhere everywhere let come go see look \
         said says let's dear good well-known according based due given following including being born died known \
         located situated founded named called released published written directed produced made used using new old \
         young little poor great long early late modern other's thank thanks sorry pray upon accordingly afterwards \
         altogether certainly clearly consequently evidently fortunately happily immediately luckily naturally \
         obviously possibly probably really seldom shortly slowly suddenly surely truly undoubtedly unfortunately \
         don't can't won't didn't doesn't isn't wasn't wouldn't couldn't shouldn't i'm i'll i've i'd you're you'll \
         you've he's she's it's we're we'll they're they've that's there's what's who's here's mr mrs ms there'd \
         during notwithstanding hardly scarcely barely no-one nor \
         think know suppose believe tell take give make keep stop wait listen try ask remember consider note indeed \
         apart aside far long away back ago enough less least better best worse worst",
    ),
    (
        CONNECTOR,
        "of the and de la le les du des del della di da do dos van von der den ter ten zu y e al el ibn bin ben af av",
    ),
    (
        MONTH,
        "january february march april may june july august september october november december monday tuesday \
         wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn winter",
    ),
    (
        HONORIFIC,
        "mr mr mrs mrs ms ms miss master madam madame mme mme mademoiselle monsieur m. sir lady lord dame dr dr \
         doctor prof prof professor rev rev reverend father sister brother saint captain capt capt colonel col col \
         general gen gen major maj lieutenant lt lt sergeant sgt sgt corporal cpl admiral commander cmdr private \
         pvt king queen prince princess duke duchess earl count countess baron baroness viscount marquis emperor \
         empress pope cardinal bishop archbishop president senator sen governor gov mayor judge justice don doña \
         señor señora herr frau uncle aunt aunty hon hon sultan sheikh shah tsar czar chancellor minister",
    ),
    (
        FEMALE,
        "mrs mrs ms ms miss madam madame mme mme mademoiselle lady dame sister queen princess duchess countess \
         baroness empress doña señora frau aunt aunty",
    ),
    (
        PERSON,
        "man woman boy girl child person people actor actress singer songwriter musician composer writer author poet \
         novelist playwright journalist painter sculptor artist photographer director filmmaker producer screenwriter \
         politician statesman diplomat lawyer attorney judge jurist economist scientist physicist chemist biologist \
         botanist mathematician astronomer philosopher historian theologian linguist engineer inventor architect \
         physician surgeon doctor nurse teacher professor scholar academic student soldier officer general admiral \
         commander king queen prince princess duke duchess earl count countess baron baroness emperor empress monarch \
         noble nobleman noblewoman aristocrat bishop priest monk nun cleric saint pope rabbi missionary footballer \
         player cricketer golfer boxer wrestler swimmer cyclist athlete sprinter gymnast skater racer coach manager \
         businessman businesswoman entrepreneur executive banker merchant farmer activist revolutionary model comedian \
         dancer rapper guitarist drummer bassist pianist violinist vocalist conductor character son daughter father \
         mother brother sister husband wife widow uncle aunt nephew niece cousin grandson granddaughter grandfather \
         grandmother servant housekeeper master mistress owner clergyman gentleman captain colonel sailor explorer \
         president senator governor mayor minister member leader founder chef designer critic editor presenter \
         broadcaster host translator illustrator cartoonist animator pilot astronaut spy detective lecturer psychologist \
         keeper ferryman fisherman miller baker smith blacksmith carpenter gardener innkeeper schoolmaster clerk \
         steward heir heiress friend neighbour neighbor orphan",
    ),
    (
        PLACE,
        "city town village hamlet municipality county district province region state country nation kingdom empire \
         capital island islands isle peninsula continent river stream creek lake sea ocean bay gulf strait harbour \
         harbor port mountain mount mountains hill hills range valley plain desert forest park garden gardens street \
         road avenue lane square bridge castle palace house hall abbey church cathedral temple mosque monastery tower \
         fort fortress station airport stadium arena theatre theater museum building settlement commune parish \
         township borough suburb neighbourhood neighborhood territory colony prefecture canton oblast estate manor farm \
         cemetery canal dam beach cape coast highway railway lighthouse reservoir glacier volcano waterfall falls \
         crater planet moon star asteroid galaxy community area locality mill inn shire wood woods court",
    ),
    (
        ORGANISATION,
        "company corporation organization organisation institution institute university college school academy \
         association society club team league federation union party government ministry department agency bureau \
         council committee commission board court bank firm brand label studio studios orchestra band group ensemble \
         choir church order army navy regiment battalion brigade division squadron police network channel newspaper \
         magazine journal airline airlines foundation charity trust inc inc ltd ltd llc corp corp co gmbh plc \
         records press entertainment industries laboratories laboratory hospital library conference duo trio quartet \
         franchise publisher manufacturer retailer subsidiary family dynasty tribe parliament senate congress",
    ),
    (
        WORK,
        "film movie novel book story tale poem play song single album ep series serial sitcom show episode season \
         documentary musical opera symphony sonata ballet painting sculpture game soundtrack anthology trilogy essay \
         autobiography biography memoir comic manga anime drama comedy thriller program programme podcast dataset \
         corpus algorithm software framework toolkit treatise manuscript hymn anthem waltz concerto",
    ),
    (
        EVENT,
        "war battle siege revolution rebellion uprising treaty election festival tournament championship cup olympics \
         games ceremony conference expedition massacre earthquake hurricane flood crisis crusade campaign race marathon \
         award prize awards season competition trial",
    ),
    (
        HEADING,
        "chapter book part volume section act scene canto letter preface prologue epilogue introduction conclusion \
         conclusions contents appendix abstract references acknowledgements acknowledgments bibliography index notes \
         results discussion method methods methodology experiments experiment evaluation background summary overview \
         table figure fig fig. related work motivation analysis approach title stave footnote illustration",
    ),
    (
        PHRASE_END,
        "of in on at by for from to with who whom whose which that where when and or but as is was are were has had \
         born located situated based founded directed written produced released published created developed known named \
         called best consisting starring featuring about during after before since between under into near",
    ),
    (ONE_OF, "mother father husband wife widow widower fiancé fiancée birthplace"),
    (COPULA, "is was are were became remains"),
    (
        UTTERS,
        "said says replied cried asked answered exclaimed whispered thought knew felt smiled laughed nodded sighed \
         shouted murmured muttered told added continued observed remarked declared returned rejoined repeated called \
         spoke began wished hoped believed wondered looked turned walked sat stood ran rose went came took gave",
    ),
];

/// The lists as an open-addressed table: slots of (key, classes), no classes where free.
static TABLE: LazyLock<Vec<(u64, u16)>> = LazyLock::new(|| {
    let mut table = vec![(0, 0); SLOTS];
    for (bit, list) in LISTS {
        for word in list.split_ascii_whitespace() {
            let key = key(word);
            let mut at = slot(key);
            while table[at].1 != 0 && table[at].0 != key {
                at = (at + 1) % SLOTS;
            }
            table[at] = (key, table[at].1 | bit);
        }
    }
    table
});

/// Slots of the table: a power of two, several times what the lists hold.
const SLOTS: usize = 1 << 13;

fn slot(key: u64) -> usize {
    (key ^ (key >> 29)) as usize % SLOTS
}

/// Key of a word whatever its case and the form of its apostrophes, its last period left out: 64 bits of FNV-1a over its small letters. Two words of
/// one key would be taken for the same, which a text can bring about on purpose and only to its own harm.
pub(super) fn key(word: &str) -> u64 {
    let word = word.strip_suffix('.').unwrap_or(word);
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    if word.is_ascii() {
        return word.bytes().fold(start, |hash, b| mix(hash, b.to_ascii_lowercase()));
    }
    let mut buffer = [0; 4];
    let straight = |c| if matches!(c, '’' | 'ʼ') { '\'' } else { c };
    word.chars()
        .map(straight)
        .flat_map(char::to_lowercase)
        .fold(start, |hash, c| c.encode_utf8(&mut buffer).bytes().fold(hash, mix))
}

/// What is known of the word with a key; 0 where nothing is.
pub(super) fn classes_of(key: u64) -> u16 {
    let mut at = slot(key);
    loop {
        match TABLE[at] {
            (_, 0) => return 0,
            (k, classes) if k == key => return classes,
            _ => at = (at + 1) % SLOTS,
        }
    }
}

/// What is known of a word, whatever its case, its last period left out.
pub(super) fn classes(word: &str) -> u16 {
    classes_of(key(word))
}

/// Whether a word of this spelling, without its period, is an abbreviation.
pub(super) fn is_abbreviation(word: &str) -> bool {
    matches!(
        word,
        "Mr" | "Mrs"
            | "Ms"
            | "Dr"
            | "Prof"
            | "Rev"
            | "Hon"
            | "St"
            | "Mt"
            | "Ft"
            | "Jr"
            | "Sr"
            | "Capt"
            | "Col"
            | "Gen"
            | "Maj"
            | "Lt"
            | "Sgt"
            | "Cpl"
            | "Pvt"
            | "Cmdr"
            | "Sen"
            | "Gov"
            | "Rep"
            | "Mme"
            | "Mlle"
            | "Messrs"
            | "Inc"
            | "Ltd"
            | "Corp"
            | "Co"
            | "Bros"
            | "No"
            | "Nos"
            | "Vol"
            | "vol"
            | "vols"
            | "Fig"
            | "fig"
            | "Figs"
            | "Eq"
            | "Sec"
            | "vs"
            | "etc"
            | "cf"
            | "al"
            | "approx"
            | "ca"
            | "pp"
            | "ed"
            | "eds"
            | "Jan"
            | "Feb"
            | "Mar"
            | "Apr"
            | "Jun"
            | "Jul"
            | "Aug"
            | "Sep"
            | "Sept"
            | "Oct"
            | "Nov"
            | "Dec"
            | "Esq"
            | "Ph"
            | "viz"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_belong_to_several_classes() {
        assert_eq!(classes("queen") & (HONORIFIC | FEMALE | PERSON), HONORIFIC | FEMALE | PERSON);
        assert_eq!(classes("pemberley"), 0);
        assert_eq!(classes("mr."), classes("mr"));
        assert_eq!(classes("I’ve"), FUNCTION);
    }

    #[test]
    fn every_listed_word_is_found() {
        for (bit, list) in LISTS {
            for word in list.split_ascii_whitespace() {
                assert_eq!(classes(word) & bit, *bit, "{word}");
            }
        }
    }
}
