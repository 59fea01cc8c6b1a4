//! The mutants, by the part of the contract that they break.

mod backup;
mod batches;
mod bounds;
mod damage;
mod fidelity;
mod find;
mod listings;
mod many;
mod one_ops;
mod paging;
mod races;
mod recall;
mod records;
mod retries;
mod scope;
mod sessions;
mod turns;
mod upkeep;

use crate::mutant::Mutant;

pub(crate) fn all() -> impl Iterator<Item = &'static Mutant> {
    [
        backup::MUTANTS,
        batches::MUTANTS,
        bounds::MUTANTS,
        damage::MUTANTS,
        fidelity::MUTANTS,
        find::MUTANTS,
        many::MUTANTS,
        one_ops::MUTANTS,
        paging::MUTANTS,
        races::MUTANTS,
        recall::MUTANTS,
        records::MUTANTS,
        retries::MUTANTS,
        scope::MUTANTS,
        sessions::MUTANTS,
        turns::MUTANTS,
        upkeep::MUTANTS,
    ]
    .into_iter()
    .flatten()
}
