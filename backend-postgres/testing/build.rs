//! Finds out whether the tests have a server to start.

#[path = "src/binaries.rs"]
mod binaries;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(postgres)");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed={}", binaries::REQUIRE);
    println!("cargo::rerun-if-changed=/usr/lib/postgresql");
    if binaries::folder().is_some() || std::env::var_os(binaries::REQUIRE).is_some() {
        println!("cargo::rustc-cfg=postgres");
    }
}
