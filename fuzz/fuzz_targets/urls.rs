//! Any text for a URL is taken apart or refused; what it is made of comes back; and nothing of a secret
//! in it is shown.

#![no_main]

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use memkeep::{
    ErrorKind, Result, StoreUrl, inmem::InmemConfig, redb::RedbConfig, sqlite::SqliteConfig,
};
use memkeep_fuzz::run;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a str),
    Parts { scheme: u8, path: &'a str, parameters: Vec<(&'a str, &'a str)> },
    Secret { scheme: &'a str, before: &'a str, after: &'a str, in_parameter: bool },
}

const SCHEMES: [&str; 4] = ["inmem", "redb", "sqlite", "postgres"];
const SECRET: &str = "s3cr3t";

/// The configuration that a URL makes, without opening anything.
fn configured(url: &StoreUrl) -> Result<()> {
    match url.scheme() {
        "inmem" => InmemConfig::from_url(url).map(drop),
        "redb" => RedbConfig::from_url(url).map(drop),
        _ => SqliteConfig::from_url(url).map(drop),
    }
}

fn check(text: &str, secret: Option<&str>) {
    let hides = |shown: String| {
        assert!(secret.is_none_or(|secret| !shown.contains(secret)), "{shown}");
    };
    let refused = |error: memkeep::Error| {
        // There is a backend more, which is not compiled in here.
        let is_known = error.get("feature") == Some("postgres");
        let kind = if is_known { ErrorKind::Unsupported } else { ErrorKind::InvalidArgument };
        assert_eq!(error.kind(), kind, "{error:?}");
        hides(format!("{error} {error:?}"));
    };
    let opened = || match run(memkeep::open(text)) {
        Ok(_) => panic!("`{text}` was opened"),
        Err(error) => refused(error),
    };
    let url: StoreUrl = match text.parse() {
        Ok(url) => url,
        Err(error) => {
            refused(error);
            return opened();
        }
    };
    hides(format!("{url} {url:?}"));
    let again: StoreUrl = text.parse().expect("it was parsed before");
    assert_eq!(again, url);
    // Only what is refused without a look at the disk may be opened here.
    match configured(&url) {
        Err(error) => {
            refused(error);
            opened();
        }
        Ok(()) if !SCHEMES[..3].contains(&url.scheme()) => opened(),
        Ok(()) => {}
    }
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Text(text) => check(text, None),
    Input::Parts { scheme, path, parameters } => {
        let scheme = SCHEMES[usize::from(scheme) % SCHEMES.len()];
        let encoded = |text| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let parameters: Vec<_> = parameters
            .into_iter()
            .filter(|(name, value)| !(name.is_empty() && value.is_empty()))
            .collect();
        let query: Vec<_> = parameters
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)))
            .collect();
        let text = format!("{scheme}:{}?{}", encoded(path), query.join("&"));
        let names: BTreeSet<&str> = parameters.iter().map(|(name, _)| *name).collect();
        let parsed = text.parse::<StoreUrl>();
        assert_eq!(parsed.is_ok(), names.len() == parameters.len());
        let Ok(url) = parsed else { return check(&text, None) };
        assert_eq!(url.scheme(), scheme);
        match url.path() {
            Ok(found) => assert_eq!(found, path),
            Err(_) => assert!(path.contains('\0')),
        }
        assert_eq!(url.parameters().collect::<Vec<_>>(), parameters);
        check(&text, None);
    }
    Input::Secret { scheme, before, after, in_parameter } => {
        // The scheme and the host are shown.
        let is_shown = |part: &&str| part.to_ascii_lowercase().contains(SECRET);
        if [scheme, before, after].iter().any(is_shown) || scheme.contains(':') {
            return;
        }
        let text = if in_parameter {
            format!("{scheme}:{before}?password={SECRET}&{after}")
        } else {
            format!("{scheme}://user:{SECRET}{before}{SECRET}@{after}")
        };
        check(&text, Some(SECRET));
    }
});
