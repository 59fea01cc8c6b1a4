//! Fields whose text form would be large or slow in a binary row, for `#[serde(with = "…")]`.

/// A timestamp as microseconds.
pub(super) mod micros {
    use memkeep_core::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(in super::super) fn serialize<S: Serializer>(
        at: &Timestamp,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.as_micros().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Timestamp, D::Error> {
        Timestamp::from_micros(i64::deserialize(from)?)
            .ok_or_else(|| D::Error::custom("a time outside the years 0 to 9999"))
    }
}

/// A timestamp that may be absent.
pub(super) mod maybe_micros {
    use memkeep_core::Timestamp;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub(in super::super) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::as_micros).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let read = |micros| {
            Timestamp::from_micros(micros)
                .ok_or_else(|| D::Error::custom("a time outside the years 0 to 9999"))
        };
        Option::deserialize(from)?.map(read).transpose()
    }
}

/// Any value as JSON text.
pub(super) mod json {
    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{DeserializeOwned, Error as _},
        ser::Error as _,
    };

    pub(in super::super) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        serde_json::to_string(value).map_err(S::Error::custom)?.serialize(to)
    }

    pub(in super::super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        serde_json::from_str(<&str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// JSON that may be absent, which is another thing than `null`.
pub(super) mod maybe_json {
    use memkeep_core::Json;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::ref_option, reason = "serde's signature")]
    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<Json>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Json::to_string).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Json>, D::Error> {
        let text = Option::<&str>::deserialize(from)?;
        text.map(serde_json::from_str).transpose().map_err(D::Error::custom)
    }
}
