// SPDX-License-Identifier: Apache-2.0
//! The command line.

pub const USAGE: &str = "\
iceoryx2-ping [--cpus A,B] [--seconds S]

Ping-pong latency of iceoryx2 publish-subscribe between two processes pinned to CPUs A and B (default 0,1),
in blocks that alternate with the bare cache-line ping-pong, for S seconds (default 5; at least 0.2).
Prints one JSON array: one object per block, times in ns one way (round trip / 2).

Example: iceoryx2-ping --cpus 0,1 --seconds 5";

pub struct Args {
    pub cpus: (usize, usize),
    pub seconds: f64,
}

/// The arguments, or what is wrong with them; `None` when only the help is asked for.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
    let mut args = Args { cpus: (0, 1), seconds: 5.0 };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--cpus" => args.cpus = cpus(&value("--cpus", words.next())?)?,
            "--seconds" => args.seconds = seconds(&value("--seconds", words.next())?)?,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(Some(args))
}

fn value(name: &str, word: Option<String>) -> Result<String, String> {
    word.ok_or_else(|| format!("{name} needs a value"))
}

fn cpus(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("--cpus: '{text}' is not two CPU numbers such as 0,1");
    let (a, b) = text.split_once(',').ok_or_else(wrong)?;
    let a: usize = a.parse().map_err(|_| wrong())?;
    let b: usize = b.parse().map_err(|_| wrong())?;
    if a == b {
        // Two polling sides on one CPU measure the scheduler's time slice.
        return Err(format!("--cpus: '{text}' names one CPU twice"));
    }
    if a.max(b) >= libc::CPU_SETSIZE as usize {
        return Err(format!("--cpus: '{text}' exceeds the largest CPU number, {}", libc::CPU_SETSIZE - 1));
    }
    Ok((a, b))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.2..=3600.0).contains(&s) => Ok(s),
        _ => Err(format!("--seconds: '{text}' is not a number from 0.2 to 3600")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Option<Args>, String> {
        parse(words.iter().map(|w| w.to_string()))
    }

    #[test]
    fn takes_both_options() {
        let args = parsed(&["--cpus", "3,2", "--seconds", "0.5"]).unwrap().unwrap();
        assert_eq!(args.cpus, (3, 2));
        assert_eq!(args.seconds, 0.5);
    }

    #[test]
    fn refuses_what_cannot_be_measured() {
        for words in [
            &["--cpus"][..],
            &["--cpus", "1"],
            &["--cpus", "1,1"],
            &["--cpus", "0,-1"],
            &["--cpus", "0,1024"],
            &["--seconds", "nan"],
            &["--seconds", "0"],
            &["--second", "1"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
