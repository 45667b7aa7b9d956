// SPDX-License-Identifier: Apache-2.0
//! Where iceoryx2 keeps its files for one run: a folder and a prefix of the run's own, so that nothing is
//! shared with other users of iceoryx2 on the machine and nothing stays behind.

use std::fs;
use std::path::PathBuf;

use iceoryx2::prelude::*;

pub struct Place {
    root: PathBuf,
    prefix: String,
}

impl Place {
    /// Named by the process; made before the fork, so that both processes mean the same one.
    pub fn new() -> Place {
        let id = std::process::id();
        Place {
            root: std::env::temp_dir().join(format!("consort-iceoryx2-ping-{id}")),
            prefix: format!("consort_ping_{id}_"),
        }
    }

    pub fn node(&self) -> Result<Node<ipc::Service>, String> {
        let wrong =
            |what: &dyn std::fmt::Debug| format!("iceoryx2 does not take {}: {what:?}", self.root.display());
        let root = self.root.to_str().ok_or_else(|| wrong(&"not UTF-8"))?;
        let mut config = Config::default();
        config.global.set_root_path(&Path::new(root.as_bytes()).map_err(|e| wrong(&e))?);
        config.global.prefix = FileName::new(self.prefix.as_bytes()).map_err(|e| wrong(&e))?;
        NodeBuilder::new()
            .config(&config)
            // Our own handlers end both processes; iceoryx2's would take the signals from them.
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .map_err(|e| format!("iceoryx2 node: {e}"))
    }

    /// Removes what stays after both processes dropped everything; returns the files that should not have
    /// stayed. By design iceoryx2 keeps its folders and one global management segment per root for later
    /// nodes.
    pub fn sweep(&self) -> Vec<PathBuf> {
        let mut left = Vec::new();
        files_under(&self.root, &mut left);
        let _ = fs::remove_dir_all(&self.root);
        for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&self.prefix) {
                let _ = fs::remove_file(entry.path());
                left.push(entry.path());
            }
        }
        left.retain(|file| file.extension().is_none_or(|kind| kind != "global_mgmt"));
        left
    }
}

fn files_under(folder: &std::path::Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_under(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}
