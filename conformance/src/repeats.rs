/// How often a clause repeats what it draws by lot: what the environment's `variable` says, or
/// `default`.
pub(crate) fn repeats(variable: &str, default: u32) -> u32 {
    let given = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}
