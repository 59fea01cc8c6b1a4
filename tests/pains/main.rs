//! What has hurt people who used stores of this kind, each as a small input and the right result, on
//! every backend. What only a file can suffer (a broken row, a half migration, a second process) is
//! in the tests of the backend that has the file.

mod concurrency;
mod fidelity;
mod fixture;
mod lifecycle;
mod order;
mod queries;
mod scope;
