//! What goes in comes out: texts, JSON, times.

use std::{sync::Arc, time::Duration};

use memkeep_core::*;
use serde_json::Value;

use crate::{
    defect::Defect,
    mutant::{Mutant, mutant},
};

/// Takes an empty text for an absent one.
fn no_empty(value: &mut Value) {
    if value == "" {
        *value = Value::Null;
    }
}

/// Changes every text that a batch gives, names included.
fn texts(d: Defect, f: fn(&mut String)) -> Defect {
    const TEXTS: [&str; 18] = [
        "content",
        "problem",
        "summary",
        "text",
        "model",
        "mode",
        "action",
        "decision",
        "value",
        "payload",
        "detail",
        "metadata",
        "id",
        "session",
        "workspace",
        "key",
        "role",
        "status",
    ];
    TEXTS.into_iter().fold(d, |d, name| {
        d.field(name, move |value| {
            each(value, &|value| {
                if let Value::String(text) = value {
                    f(text);
                }
            })
        })
    })
}

/// Changes every value in the JSON that a batch gives.
fn values(d: Defect, f: fn(&mut Value)) -> Defect {
    let names = ["value", "payload", "detail", "metadata"];
    names.into_iter().fold(d, |d, name| {
        d.field(name, move |value| {
            let is_map = name == "metadata" && value.is_object();
            each(value, &f);
            if is_map && !value.is_object() {
                *value = Value::Object(serde_json::Map::new());
            }
        })
    })
}

fn each(value: &mut Value, f: &dyn Fn(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, f)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each(field, f)),
        _ => {}
    }
    f(value);
}

/// Changes every time that a batch gives, and the clock.
fn times(d: Defect, f: fn(Timestamp) -> Timestamp) -> Defect {
    struct Other(Arc<dyn Clock>, fn(Timestamp) -> Timestamp);
    impl Clock for Other {
        fn now(&self) -> Timestamp {
            self.1(self.0.now())
        }
    }
    let names = ["created_at", "started_at", "at", "expires_at"];
    let d = names.into_iter().fold(d, |d, name| {
        d.field(name, move |value| {
            if let Value::String(text) = value
                && let Ok(time) = text.parse()
            {
                *text = f(time).to_string();
            }
        })
    });
    d.clock(move |clock| Arc::new(Other(clock, f)))
}

fn float(value: &mut Value, f: fn(f64) -> f64) {
    if let Some(number) = value.as_f64().filter(|_| value.is_f64()) {
        *value = serde_json::Number::from_f64(f(number)).map_or(Value::Null, Value::Number);
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "texts end at a NUL",
        &[
            "HOSTILE-TEXT-01",
            "HOSTILE-PREFIX-01",
            "HOSTILE-QUERY-01",
            "HOSTILE-QUERY-03",
            "HOSTILE-QUERY-02",
        ],
        |d| texts(d, |text| text.truncate(text.find('\0').unwrap_or(text.len()))),
    ),
    mutant("texts are trimmed", &["FIDELITY-FIELD-02", "HOSTILE-QUERY-03"], |d| {
        texts(d, |text| *text = text.trim().to_owned())
    }),
    mutant("texts are normalised", &["FIDELITY-FIELD-02"], |d| {
        texts(d, |text| *text = text.replace("e\u{301}", "é").replace("\u{212b}", "Å"))
    }),
    mutant("texts lose their carriage returns", &["HOSTILE-TEXT-01"], |d| {
        texts(d, |text| text.retain(|c| c != '\r'))
    }),
    mutant("texts lose what is beyond the basic plane", &["FIDELITY-JSON-01"], |d| {
        texts(d, |text| *text = text.replace(|c| c > '\u{ffff}', "?"))
    }),
    mutant("texts lose a byte order mark", &["HOSTILE-KEY-01"], |d| {
        texts(d, |text| *text = text.trim_start_matches('\u{feff}').to_owned())
    }),
    mutant("texts have their escapes resolved", &["HOSTILE-PREFIX-01"], |d| {
        texts(d, |text| *text = text.replace("\\u0041", "A").replace("\\\\", "\\"))
    }),
    mutant("texts are cut at 65,535 bytes", &["FIDELITY-SIZE-01"], |d| {
        texts(d, |text| text.truncate(text.floor_char_boundary(65_535)))
    }),
    mutant("ids are case-folded", &["HOSTILE-QUERY-01"], |d| {
        let fold = |value: &mut Value| {
            if let Value::String(id) = value {
                *id = id.to_lowercase();
            }
        };
        d.field("id", fold).field("session", fold)
    }),
    mutant("integers are rounded to floats' precision", &["FIDELITY-NUMBER-01"], |d| {
        values(d, |value| {
            if let Some(integer) = value.as_i64().filter(|i| i.unsigned_abs() > 1 << 53) {
                *value = (integer / 1_024 * 1_024).into();
            }
        })
    }),
    mutant("u64 become floats", &["FIDELITY-NUMBER-01"], |d| {
        values(d, |value| {
            if let Some(integer) = value.as_u64().filter(|_| !value.is_i64()) {
                *value = (integer as f64).into();
            }
        })
    }),
    mutant("floats lose their last digit", &["FIDELITY-NUMBER-01"], |d| {
        values(d, |value| float(value, |f| format!("{f:.15e}").parse().unwrap()))
    }),
    mutant("floats are single", &["FIDELITY-NUMBER-01"], |d| {
        values(d, |value| float(value, |f| f64::from(f as f32)))
    }),
    mutant("-0.0 is 0.0", &["FIDELITY-NUMBER-01"], |d| {
        values(d, |value| float(value, |f| f + 0.0))
    }),
    mutant("whole floats become integers", &["FIDELITY-JSON-01"], |d| {
        values(d, |value| {
            if let Some(number) = value.as_f64().filter(|f| value.is_f64() && f.abs() < 1e15) {
                if number.fract() == 0.0 {
                    *value = (number as i64).into();
                }
            }
        })
    }),
    mutant("null is dropped from objects", &["FIDELITY-JSON-01"], |d| {
        values(d, |value| {
            if let Value::Object(fields) = value {
                fields.retain(|_, field| !field.is_null());
            }
        })
    }),
    mutant("an empty list comes back as an empty object", &["FIDELITY-JSON-01"], |d| {
        values(d, |value| {
            if value.as_array().is_some_and(Vec::is_empty) {
                *value = Value::Object(serde_json::Map::new());
            }
        })
    }),
    mutant("an empty object is null", &["FIDELITY-JSON-01"], |d| {
        values(d, |value| {
            if value.as_object().is_some_and(serde_json::Map::is_empty) {
                *value = Value::Null;
            }
        })
    }),
    mutant("metadata is dropped", &["FIDELITY-FIELD-01"], |d| {
        d.field("metadata", |value| *value = Value::Object(serde_json::Map::new()))
    }),
    mutant("times are cut to milliseconds", &["FIDELITY-FIELD-01"], |d| {
        times(d, |time| {
            let micros = time.as_micros();
            Timestamp::from_micros(micros - micros.rem_euclid(1_000)).unwrap()
        })
    }),
    mutant("times before 1970 are 1970", &["FIDELITY-TIME-01"], |d| {
        times(d, |time| time.max(Timestamp::default()))
    }),
    mutant("times after 2038 wrap", &["FIDELITY-TIME-01"], |d| {
        times(d, |time| time.min(Timestamp::from_micros(2_147_483_647_999_999).unwrap()))
    }),
    mutant("the clock is a second late", &["FIDELITY-SIZE-01"], |d| {
        struct Late(Arc<dyn Clock>);
        impl Clock for Late {
            fn now(&self) -> Timestamp {
                self.0.now().saturating_sub(Duration::from_secs(1))
            }
        }
        d.clock(|clock| Arc::new(Late(clock)))
    }),
    mutant("an empty model or mode is absent", &["FIDELITY-EMPTY-01", "FIDELITY-EMPTY-02"], |d| {
        d.field("model", no_empty).field("mode", no_empty)
    }),
    mutant("an empty summary is absent", &["FIDELITY-EMPTY-01", "FIDELITY-EMPTY-02"], |d| {
        d.session_rows(|session| session.summary = session.summary.take().filter(|t| !t.is_empty()))
    }),
    mutant("an empty embedding is none", &["FIDELITY-EMPTY-01", "FIDELITY-EMPTY-02"], |d| {
        d.field("embedding_id", no_empty)
    }),
    mutant("an empty value of a tag is none", &["FIDELITY-EMPTY-01", "FIDELITY-EMPTY-02"], |d| {
        d.field("value", no_empty)
    }),
    mutant("an absent model is an empty one", &["FIDELITY-EMPTY-01", "FIDELITY-EMPTY-02"], |d| {
        d.session_rows(|session| session.model = Some(session.model.take().unwrap_or_default()))
    }),
    mutant("a listed turn without an embedding has an empty one", &["FIDELITY-EMPTY-01"], |d| {
        d.after(|_: &ListTurns, page: &mut Page<Turn>| {
            for turn in &mut page.items {
                turn.embedding_id.get_or_insert_default();
            }
        })
    }),
    mutant("an empty problem is no revision", &["EPISODE-REVISE-01"], |d| {
        d.field("problem", no_empty)
    }),
];
