//! What a URL says before its parameters: `//user:password@host:port,host:port/database`.

use memkeep_core::{Error, Result};
use percent_encoding::percent_decode_str;

use crate::config::{DEFAULT_PORT, Host};

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Authority {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) database: Option<String>,
}

impl Authority {
    /// Errors say what is wrong and quote nothing: a password may stand anywhere.
    pub(crate) fn parse(rest: &str) -> Result<Self> {
        let wrong = || {
            let message = "a server is named as in postgres://user@host:5432/database";
            Error::invalid("url", message)
        };
        let rest = rest.strip_prefix("//").ok_or_else(wrong)?;
        let (authority, database) = match rest.split_once('/') {
            Some((authority, database)) => (authority, Some(database)),
            None => (rest, None),
        };
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, password)) => (text(user)?, text(password)?),
            None => (None, None),
        };
        let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(host);
        let hosts = hosts.collect::<Result<_>>()?;
        let database = database.map(text).transpose()?.flatten();
        Ok(Self { user, password, hosts, database })
    }
}

/// `name:port`, `[::1]:port`, or a folder of sockets, percent-encoded.
fn host(text: &str) -> Result<Host> {
    let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':').unwrap_or(rest)),
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let port = match port {
        "" => DEFAULT_PORT,
        port => port.parse().map_err(|_| Error::invalid("url", "a port is a number"))?,
    };
    Ok(Host { name: decode(name)?, port })
}

fn text(text: &str) -> Result<Option<String>> {
    if text.is_empty() { Ok(None) } else { decode(text).map(Some) }
}

fn decode(text: &str) -> Result<String> {
    let text = percent_decode_str(text).decode_utf8();
    // The error would quote what it could not read.
    Ok(text.map_err(|_| Error::invalid("url", "not UTF-8 after percent-decoding"))?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    #[test]
    fn every_part_is_found() {
        let some = |text: &str| Some(text.to_owned());
        for (rest, user, password, hosts, database) in [
            ("//", None, None, vec![], None),
            ("//db", None, None, vec![named("db", 5432)], None),
            ("//a@db/x", some("a"), None, vec![named("db", 5432)], some("x")),
            (
                "//a%40b:p%2Fw%3A%40@h1:1,h2,[::1]:3/d%20b",
                some("a@b"),
                some("p/w:@"),
                vec![named("h1", 1), named("h2", 5432), named("::1", 3)],
                some("d b"),
            ),
            ("//%2Frun%2Fpg:7/x", None, None, vec![named("/run/pg", 7)], some("x")),
        ] {
            let expected = Authority { user, password, hosts, database };
            assert_eq!(Authority::parse(rest).unwrap(), expected, "{rest}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        for rest in
            ["agent", "/x", "//a:hidden@h:port/x", "//a:hidden%ff@h/x", "//a:hidden@h:70000/x"]
        {
            let error = Authority::parse(rest).unwrap_err();
            assert_eq!(error.kind(), memkeep_core::ErrorKind::InvalidArgument);
            assert!(!format!("{error:?}").contains("hidden"), "{error:?}");
        }
    }
}
