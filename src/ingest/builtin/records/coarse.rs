//! Coarse labels: one word for the many in which a property or an aspect is named.

/// Coarse label, and the words of fine labels that it stands for. The first that fits is taken.
const TABLE: [(&str, &str); 20] = [
    ("birth", " birth born birthplace birthday "),
    ("death", " death died dead burial buried "),
    (
        "kinship",
        " sister brother mother father wife husband son daughter uncle aunt nephew niece cousin family parents children spouse ",
    ),
    (
        "amount",
        " price cost costs sum salary income pay payment fee total debt loan reward budget expense expenses revenue \
        profit rent pension fortune dowry offer gift inheritance amount balance credit debit paid wage wages value fine ",
    ),
    (
        "date",
        " date year month day time start end founding founded established opening opened closing publication published \
        release released completion construction arrival arrest marriage election appointment discovery invention move due \
        deadline updated created since until ",
    ),
    (
        "place",
        " place location city town country address site capital residence room region village street seat port headquarters origin ",
    ),
    (
        "quantity",
        " number count quantity mass weight length height width depth size volume speed pressure temperature capacity \
        power range age duration population voltage current frequency flow diameter thickness distance area rate limit level \
        stock pieces interval ",
    ),
    (
        "role",
        " role occupation position profession office rank job post author owner editor director manager keeper captain \
        responsible contact maintainer payee supplier maker manufacturer publisher ",
    ),
    ("name", " name names alias aliases title called "),
    ("kind", " is kind type class model category genre species sort version edition "),
    ("appearance", " colour color material shape finish appearance texture look "),
    ("state", " state status condition health phase "),
    ("cause", " cause causes reason reasons fault faults error errors problem symptom "),
    ("remedy", " remedy remedies solution fix action repair troubleshooting "),
    ("use", " use usage purpose function operation operating application "),
    ("part", " part parts component components contents contains structure overview "),
    ("rule", " rule rules requirement requirements warning warnings safety limits note notes caution "),
    ("history", " history background past life biography career "),
    ("reference", " reference references source sources see link url page isbn email phone telephone "),
    ("description", " description summary remark remarks comment meaning definition about introduction "),
];

/// The coarse label of a fine one; empty where none fits.
pub(super) fn coarse(label: &str) -> &'static str {
    let words: Vec<String> = label.split('_').map(|word| format!(" {word} ")).collect();
    TABLE.iter().find(|(_, fine)| words.iter().any(|word| fine.contains(word.as_str()))).map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_label_decides() {
        assert_eq!(coarse("mass_kg"), "quantity");
        assert_eq!(coarse("date_of_birth"), "birth");
        assert_eq!(coarse("is"), "kind");
        assert_eq!(coarse("zeal"), "");
    }
}
