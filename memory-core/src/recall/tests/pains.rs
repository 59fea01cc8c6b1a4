//! What users of such stores ran into: every query is served, and finds what a person expects.

use super::{SCORERS, TERM_SCORERS, find};

const FILLERS: [&str; 4] = [
    "nothing of the kind in this one",
    "the deployment went through without a hitch",
    "another note about lunch",
    "we talked for a while and agreed",
];

/// (stored text, query): the text is hit 1.
const FOUND: &[(&str, &str)] = &[
    ("it says don't touch that", "don't"),
    ("it says don’t touch that", "dont"),
    ("compare a-b here", "a-b"),
    ("throughput of 3 GB/s measured", "GB/s"),
    ("visited the MoMA yesterday", "(MoMA)"),
    ("logical AND of both", "AND"),
    ("it is NEAR( the lake", "NEAR("),
    ("set x:y in the file", "x:y"),
    ("gpt-4o failed", "gpt-4o"),
    ("gpt-4o failed", "gpt4o"),
    ("workers crash after deploy", "why do the workers crash right after a deploy"),
    ("今天讨论了部署方案", "部署"),
    ("我喜欢猫", "猫"),
    ("カタカナのテスト", "テスト"),
    ("สวัสดีครับ", "สวัสดี"),
    ("서울에서 만나요", "서울"),
    ("wrote atomic_write_json", "atomic_write_json"),
    ("wrote atomic_write_json", "atomic write"),
    ("calls getShippingMethodId", "shipping method"),
    ("calls getShippingMethodId", "get_shipping_method_id"),
    ("parse HTTPServerError", "server error"),
    ("Ägypten Тест", "ägypten"),
    ("Ägypten Тест", "ТЕСТ"),
    ("İstanbul", "istanbul"),
    ("ISTANBUL", "ıstanbul"),
    ("at the café", "cafe"),
    ("at the cafe", "café"),
    ("sent the résumé", "resume"),
    ("Straße", "STRASSE"),
    ("небо синее", "НЕБО"),
    ("wrote it in C++ again", "C++"),
    ("and in C# too", "c#"),
    ("status 404 again", "404"),
    ("caching is hard", "cache"),
    ("a cache is hard", "caching"),
    ("see src/recall/main.rs", "main.rs"),
    ("see src/recall/main.rs", "src/recall/main.rs"),
    ("released v1.2.3 today", "v1.2.3"),
    ("released v1.2.3 today", "1.2.3"),
    ("the sha256 of it", "sha 256"),
    ("an e-mail came", "email"),
    ("l'homme est là", "homme"),
    ("we bought a boat", "buy a boat"),
    ("to be or not to be", "to be or not to be"),
    ("ship it 🚀", "🚀"),
    ("ｆｕｌｌ width", "full"),
    ("soft\u{ad}ware", "software"),
];

#[test]
fn a_person_finds_what_they_typed() {
    for scorer in TERM_SCORERS {
        for (stored, query) in FOUND {
            let texts: Vec<&str> = FILLERS.iter().copied().chain([*stored]).collect();
            assert_eq!(
                find(scorer, &texts, query).first(),
                Some(&FILLERS.len()),
                "{scorer:?} {query:?} in {stored:?}"
            );
        }
    }
}

#[test]
fn any_text_is_a_query() {
    for query in ["\"", "*", "?", "%", "(", "NEAR(", "a OR", "'; DROP", "", " ", "\0", "__", "-"] {
        for scorer in SCORERS {
            assert!(find(scorer, &FILLERS, query).len() <= FILLERS.len(), "{query:?}");
        }
    }
}

#[test]
fn one_unknown_word_does_not_empty_the_answer() {
    for scorer in SCORERS {
        assert_eq!(find(scorer, &FILLERS, "lunch xylophone")[..1], [2], "{scorer:?}");
    }
}

#[test]
fn megabytes_and_nul_are_text() {
    let many = (0..200_000).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
    let nuls = "\0".repeat(10_291);
    let joined = "a/".repeat(500_000) + "needle";
    for scorer in TERM_SCORERS {
        assert_eq!(find(scorer, &[&nuls, &many], "word17"), [1]);
        assert_eq!(find(scorer, &[&nuls, &joined], "needle"), [1]);
        let long = "x".repeat(100_000);
        assert_eq!(find(scorer, &[&nuls, &long], &long), [1]);
    }
}
