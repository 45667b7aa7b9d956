// SPDX-License-Identifier: Apache-2.0
//! Response-time bounds of many task sets by the crate `response-time-analysis`: sets on stdin, bounds on stdout.
//!
//! Both are little-endian 64-bit integers. In: the analysis, the number of sets, the tasks of each; then for each
//! set its supply (period, budget; 0, 0 for a whole processor) and for each task its cost, period, deadline, jitter
//! and blocking, the most urgent first. Out: for each set the bound of each task, -1 where none was found. Bounds
//! count from when a job comes.

mod analyses;

use std::io::{self, BufReader, BufWriter, Read, Write};

use analyses::{Set, Task, ANALYSES};

fn number(from: &mut impl Read) -> io::Result<i64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(i64::from_le_bytes(bytes))
}

fn time(from: &mut impl Read) -> io::Result<u64> {
    u64::try_from(number(from)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a time is negative"))
}

fn set(from: &mut impl Read, tasks: u64) -> io::Result<Set> {
    let supply = (time(from)?, time(from)?);
    let tasks = (0..tasks)
        .map(|_| {
            Ok(Task {
                cost: time(from)?,
                period: time(from)?,
                deadline: time(from)?,
                jitter: time(from)?,
                blocking: time(from)?,
            })
        })
        .collect::<io::Result<Vec<_>>>()?;
    Ok(Set { supply, tasks })
}

fn main() -> io::Result<()> {
    let mut from = BufReader::new(io::stdin().lock());
    let mut to = BufWriter::new(io::stdout().lock());
    let chosen = time(&mut from)? as usize;
    let analysis = ANALYSES
        .get(chosen)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "there is no such analysis"))?;
    let (sets, tasks) = (time(&mut from)?, time(&mut from)?);
    for _ in 0..sets {
        let set = set(&mut from, tasks)?;
        for index in 0..set.tasks.len() {
            let bound = analysis(&set, index).map_or(-1, |found| found as i64);
            to.write_all(&bound.to_le_bytes())?;
        }
    }
    to.flush()
}
