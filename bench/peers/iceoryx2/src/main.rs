// SPDX-License-Identifier: Apache-2.0
//! Ping-pong latency of iceoryx2 publish-subscribe, and of the queue that iceoryx2 has inside, between two
//! pinned processes, in blocks between blocks of the bare cache-line ping-pong: the floor, by which a figure of
//! one machine and moment becomes comparable.

mod args;
mod clock;
mod floor;
mod link;
mod os;
mod place;
mod pubsub;
mod queue;
mod shared;
mod stats;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use args::Args;
use iceoryx2::prelude::{set_log_level, LogLevel};
use link::Link;
use place::Place;
use queue::Queues;
use shared::{Ended, Shared, Watch, END};
use stats::Summary;

/// What a block measures; the number is the command to the answering side.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Job {
    Quit,
    Floor,
    FloorHint,
    B8,
    B48,
    B128,
    B512,
    B1024,
    Q8,
    Q48,
    Q128,
    Q512,
    Q1024,
}

impl Job {
    const TESTS: [Job; 11] = [
        Job::FloorHint,
        Job::B8,
        Job::B48,
        Job::B128,
        Job::B512,
        Job::B1024,
        Job::Q8,
        Job::Q48,
        Job::Q128,
        Job::Q512,
        Job::Q1024,
    ];

    fn name_and_bytes(self) -> (&'static str, usize) {
        match self {
            Job::Quit => ("quit", 0),
            Job::Floor => ("floor", 8),
            Job::FloorHint => ("floor-spin-hint", 8),
            Job::B8 => ("iceoryx2-pubsub", 8),
            Job::B48 => ("iceoryx2-pubsub", 48),
            Job::B128 => ("iceoryx2-pubsub", 128),
            Job::B512 => ("iceoryx2-pubsub", 512),
            Job::B1024 => ("iceoryx2-pubsub", 1024),
            Job::Q8 => ("iceoryx2-queue", 8),
            Job::Q48 => ("iceoryx2-queue", 48),
            Job::Q128 => ("iceoryx2-queue", 128),
            Job::Q512 => ("iceoryx2-queue", 512),
            Job::Q1024 => ("iceoryx2-queue", 1024),
        }
    }

    fn of(number: u8) -> Option<Job> {
        [Job::Quit, Job::Floor].into_iter().chain(Job::TESTS).find(|job| *job as u8 == number)
    }
}

/// Long enough for > 10 000 round trips, short enough that both floors see the same moment of the machine.
const BLOCK: Duration = Duration::from_millis(20);
/// A block ends here too: the floor's fastest round trips in 20 ms are fewer.
const MOST_SAMPLES: usize = 4_000_000;
const WARM_UP_TRIPS: u64 = 500;

struct Measuring<'a> {
    shared: &'a Shared,
    ends: pubsub::Ends,
    queues: queue::Ends,
    watch: Watch,
    ticks_per_ns: f64,
    block: Duration,
    samples: Vec<u64>,
    generation: u64,
}

impl Measuring<'_> {
    fn block(&mut self, job: Job) -> Result<Summary, Ended> {
        let (shared, ends, queues) = (self.shared, &mut self.ends, &mut self.queues);
        let watch = &mut self.watch;
        floor::reset(shared);
        self.generation += 1;
        shared.give(self.generation, job as u8);
        let length = (self.block.as_nanos() as f64 * self.ticks_per_ns) as u64;
        let samples = &mut self.samples;
        match job {
            Job::Quit => return Err(Ended::Error("quit is not a block".into())),
            Job::Floor => sample(samples, length, |n| floor::trip::<false>(shared, watch, n)),
            Job::FloorHint => sample(samples, length, |n| floor::trip::<true>(shared, watch, n)),
            Job::B8 => sample(samples, length, |n| ends.b8.trip(shared, watch, n)),
            Job::B48 => sample(samples, length, |n| ends.b48.trip(shared, watch, n)),
            Job::B128 => sample(samples, length, |n| ends.b128.trip(shared, watch, n)),
            Job::B512 => sample(samples, length, |n| ends.b512.trip(shared, watch, n)),
            Job::B1024 => sample(samples, length, |n| ends.b1024.trip(shared, watch, n)),
            Job::Q8 => sample(samples, length, |n| queues.b8.trip(shared, watch, n)),
            Job::Q48 => sample(samples, length, |n| queues.b48.trip(shared, watch, n)),
            Job::Q128 => sample(samples, length, |n| queues.b128.trip(shared, watch, n)),
            Job::Q512 => sample(samples, length, |n| queues.b512.trip(shared, watch, n)),
            Job::Q1024 => sample(samples, length, |n| queues.b1024.trip(shared, watch, n)),
        }?;
        stats::summarise(samples, self.ticks_per_ns)
            .ok_or_else(|| Ended::Error("a block without samples".into()))
    }
}

/// Round trips, the last one with END, for `length` ticks after a warm-up; their durations go to `samples`.
#[inline(always)]
fn sample(
    samples: &mut Vec<u64>,
    length: u64,
    mut trip: impl FnMut(u64) -> Result<(), Ended>,
) -> Result<(), Ended> {
    samples.clear();
    for number in 1..=WARM_UP_TRIPS {
        trip(number)?;
    }
    let mut number = WARM_UP_TRIPS;
    let mut last = clock::now();
    let end = last + length;
    while last < end && samples.len() < MOST_SAMPLES {
        number += 1;
        trip(number)?;
        let now = clock::now();
        samples.push(now.saturating_sub(last));
        last = now;
    }
    trip(END)
}

/// The measuring process. Rows are JSON objects, one per test block.
fn measure(
    shared: &Shared,
    queues: &'static Queues,
    place: &Place,
    args: &Args,
    ticks_per_ns: f64,
    start: Instant,
) -> Result<Vec<String>, Ended> {
    os::pin(args.cpus.0).map_err(Ended::Error)?;
    let node = place.node().map_err(Ended::Error)?;
    let ends = pubsub::Ends::new(&node, true).map_err(Ended::Error)?;
    let queues = queue::Ends::new(queues, true).map_err(Ended::Error)?;
    let mut watch = Watch::new(ticks_per_ns);
    while shared.ready.word.load(Ordering::Acquire) == 0 {
        std::hint::spin_loop();
        watch.idle(shared)?;
    }
    // Of a short run each test still gets a block or more: as many floors and one, and room for sorting.
    let blocks = (2 * Job::TESTS.len() + 1) as f64;
    let block = BLOCK.min(Duration::from_secs_f64(args.seconds / (3.0 * blocks)));
    let mut samples = Vec::new();
    samples.resize(MOST_SAMPLES, 1); // touched now, so that no block meets page faults
    let mut m = Measuring { shared, ends, queues, watch, ticks_per_ns, block, samples, generation: 0 };

    let end = start + Duration::from_secs_f64(args.seconds);
    let mut rows = Vec::new();
    let mut before = m.block(Job::Floor)?;
    for round in 0.. {
        for test in Job::TESTS {
            // A test and its floor, and what sorting took up to now at most; the first round is always whole.
            if round > 0 && Instant::now() + 3 * block > end {
                m.shared.give(m.generation + 1, Job::Quit as u8);
                return Ok(rows);
            }
            let row = m.block(test)?;
            let after = m.block(Job::Floor)?;
            let (what, bytes) = test.name_and_bytes();
            rows.push(format!(
                "{{\"what\":\"{what}\",\"bytes\":{bytes},\"round\":{round},\
                 \"floor_before_ns\":{:.2},\"floor_after_ns\":{:.2},\"central_ns\":{:.2},\"median_ns\":{:.2},\
                 \"p99_ns\":{:.2},\"p999_ns\":{:.2},\"max_ns\":{:.2},\"n\":{}}}",
                before.central, after.central, row.central, row.median, row.p99, row.p999, row.max, row.n
            ));
            before = after;
        }
    }
    unreachable!("rounds end by time")
}

/// The answering process.
fn answer(
    shared: &Shared,
    queues: &'static Queues,
    place: &Place,
    args: &Args,
    ticks_per_ns: f64,
) -> Result<(), Ended> {
    os::pin(args.cpus.1).map_err(Ended::Error)?;
    let node = place.node().map_err(Ended::Error)?;
    let mut ends = pubsub::Ends::new(&node, false).map_err(Ended::Error)?;
    let mut queues = queue::Ends::new(queues, false).map_err(Ended::Error)?;
    let mut watch = Watch::new(ticks_per_ns);
    shared.ready.word.store(1, Ordering::Release);
    for generation in 0.. {
        let job = shared.take(generation, &mut watch)?;
        match Job::of(job).ok_or_else(|| Ended::Error(format!("no such command: {job}")))? {
            Job::Quit => break,
            Job::Floor => floor::answer::<false>(shared, &mut watch),
            Job::FloorHint => floor::answer::<true>(shared, &mut watch),
            Job::B8 => ends.b8.answer(shared, &mut watch),
            Job::B48 => ends.b48.answer(shared, &mut watch),
            Job::B128 => ends.b128.answer(shared, &mut watch),
            Job::B512 => ends.b512.answer(shared, &mut watch),
            Job::B1024 => ends.b1024.answer(shared, &mut watch),
            Job::Q8 => queues.b8.answer(shared, &mut watch),
            Job::Q48 => queues.b48.answer(shared, &mut watch),
            Job::Q128 => queues.b128.answer(shared, &mut watch),
            Job::Q512 => queues.b512.answer(shared, &mut watch),
            Job::Q1024 => queues.b1024.answer(shared, &mut watch),
        }?;
    }
    Ok(())
}

/// Both processes from start to end, and the check that nothing stays behind.
fn run(args: &Args) -> Result<Vec<String>, Ended> {
    let start = Instant::now();
    let shared = Shared::map().map_err(Ended::Error)?;
    let queues = Queues::map().map_err(Ended::Error)?;
    os::stop_on_signals(&shared.stop);
    os::raise_niceness();
    set_log_level(LogLevel::Error);
    let ticks_per_ns = clock::ticks_per_ns();
    let place = Place::new();

    let parent = std::process::id();
    // SAFETY: this process has one thread, and nothing of iceoryx2 exists yet.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(Ended::Error(format!("no second process: {}", std::io::Error::last_os_error())));
    }
    if child == 0 {
        os::end_with_parent();
        let result = answer(shared, queues, &place, args, ticks_per_ns);
        if let Err(ended) = &result {
            shared.fail();
            if let Ended::Error(text) = ended {
                eprintln!("iceoryx2-ping: {text}");
            }
            // A parent that was killed can no longer remove the files.
            if std::os::unix::process::parent_id() != parent {
                place.sweep();
            }
        }
        // SAFETY: leaves at once, so that nothing of the parent's state runs its end twice.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    let rows = measure(shared, queues, &place, args, ticks_per_ns, start);
    if rows.is_err() {
        shared.fail();
    }
    let mut status = 0;
    // SAFETY: child is ours and not yet waited for; a signal may interrupt the wait.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
    let left = place.sweep();
    let rows = rows?;
    if status != 0 {
        return Err(Ended::OtherFailed);
    }
    if !left.is_empty() {
        return Err(Ended::Error(format!("iceoryx2 left files behind, now removed: {left:?}")));
    }
    Ok(rows)
}

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("iceoryx2-ping: {wrong}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    // Tried here for both, so that a CPU this machine lacks is told apart from a run that failed.
    if let Err(lacks) = os::pin(args.cpus.1).and_then(|()| os::pin(args.cpus.0)) {
        eprintln!("iceoryx2-ping: {lacks}");
        return ExitCode::from(3);
    }
    match run(&args) {
        Ok(rows) => {
            println!("[{}]", rows.join(",\n "));
            ExitCode::SUCCESS
        }
        Err(ended) => {
            eprintln!("iceoryx2-ping: {}", ended.text());
            ExitCode::FAILURE
        }
    }
}
