//! Finds out whether the tests have a server to start, and a pooler.

#[path = "src/binaries.rs"]
mod binaries;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(postgres, pgbouncer)");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-env-changed={}", binaries::REQUIRE);
    println!("cargo::rerun-if-changed=/usr/lib/postgresql");
    let is_required = std::env::var_os(binaries::REQUIRE).is_some();
    if binaries::folder().is_some() || is_required {
        println!("cargo::rustc-cfg=postgres");
    }
    if has_pooler() || is_required {
        println!("cargo::rustc-cfg=pgbouncer");
    }
}

fn has_pooler() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("pgbouncer").is_file())
}
