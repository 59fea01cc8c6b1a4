//! Finds out what can be done here: whether calls to files can be watched (`can_watch`), and whether tests
//! may mount a file system in a name space of their own (`can_mount`), for a server, too
//! (`can_mount_for_server`).

use std::{env, process::Command};

/// Where the functions of the C library can be defined anew as `calls.rs` does it.
const WATCHED: [(&str, &str); 3] = [("OS", "linux"), ("ENV", "gnu"), ("POINTER_WIDTH", "64")];

/// How `unshare` is asked: by root, and by anybody where users may have name spaces.
const WAYS: [&str; 2] = ["--mount", "--user --map-root-user --mount"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(can_watch, can_mount, can_mount_for_server)");
    let is = |(name, value): (&str, &str)| {
        env::var(format!("CARGO_CFG_TARGET_{name}")).is_ok_and(|found| found == value)
    };
    if !WATCHED.into_iter().all(is) {
        return;
    }
    println!("cargo::rustc-cfg=can_watch");
    for way in WAYS {
        let mut try_out = Command::new("unshare");
        try_out.args(way.split(' ')).args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
        if try_out.output().is_ok_and(|tried| tried.status.success()) {
            println!("cargo::rustc-cfg=can_mount");
            // Nobody but root has other users that a server can be run by.
            if way == WAYS[0] {
                println!("cargo::rustc-cfg=can_mount_for_server");
            }
            println!("cargo::rustc-env=MEMKEEP_UNSHARE={way}");
            return;
        }
    }
}
