// SPDX-License-Identifier: Apache-2.0
//! The crate's analyses, each of one task of a set.

use response_time_analysis::arrival::{ArrivalBound, Curve, Sporadic};
use response_time_analysis::demand::{self, RequestBound, RBF};
use response_time_analysis::fixed_point::{self, SearchResult};
use response_time_analysis::time::{Duration, Offset, Service};
use response_time_analysis::{edf, fifo, fixed_priority, supply, wcet};

pub struct Task {
    pub cost: u64,
    pub period: u64,
    pub deadline: u64,
    pub jitter: u64,
    pub blocking: u64,
}

pub struct Set {
    /// Period and budget; 0 and 0: the whole processor.
    pub supply: (u64, u64),
    pub tasks: Vec<Task>,
}

/// No window of a set here is longer: its load is below 1.
const LIMIT: u64 = 10_000_000;
/// Distances of a curve that stands for a period and jitter: more jobs than a window of these sets holds.
const CURVE: usize = 400;

pub type Analysis = fn(&Set, usize) -> Option<u64>;

/// By number, as the tests name them.
pub const ANALYSES: [Analysis; 8] = [
    preemptive,
    floating,
    non_preemptive,
    with_jitter,
    with_curves,
    edf_preemptive,
    edf_non_preemptive,
    first_in_first_out,
];

impl Task {
    fn cost(&self) -> wcet::Scalar {
        wcet::Scalar::new(Service::from(self.cost))
    }
    fn punctual(&self) -> Sporadic {
        Sporadic::new_zero_jitter(Duration::from(self.period))
    }
    fn late(&self) -> Sporadic {
        Sporadic::new(Duration::from(self.period), Duration::from(self.jitter))
    }
    fn demand(&self) -> RBF<Sporadic, wcet::Scalar> {
        RBF::new(self.punctual(), self.cost())
    }
    fn deadline(&self) -> Duration {
        Duration::from(self.deadline)
    }
}

fn limit() -> Duration {
    Duration::from(LIMIT)
}

fn number(found: SearchResult) -> Option<u64> {
    found.ok().map(u64::from)
}

fn preemptive(set: &Set, index: usize) -> Option<u64> {
    let more_urgent: Vec<_> = set.tasks[..index].iter().map(Task::demand).collect();
    let own = set.tasks[index].demand();
    if set.supply.0 != 0 {
        return on_a_part(set.supply, &own, &more_urgent);
    }
    number(fixed_priority::fully_preemptive::dedicated_uniproc_rta(&own, &more_urgent, limit()))
}

/// The crate has this for executors of ROS 2 only; this is its equation for a whole processor with its supply.
fn on_a_part(
    (period, budget): (u64, u64),
    own: &RBF<Sporadic, wcet::Scalar>,
    more_urgent: &[RBF<Sporadic, wcet::Scalar>],
) -> Option<u64> {
    let part = supply::Periodic::new(Service::from(budget), Duration::from(period));
    let others = |span| -> Service { more_urgent.iter().map(|one| one.service_needed(span)).sum() };
    let longest = fixed_point::search(&part, limit(), |span| others(span) + own.service_needed(span)).ok()?;
    let until = Offset::from_time_zero(longest);
    let response = |at: Offset| {
        let mine = own.service_needed(at.closed_since_time_zero());
        let end = fixed_point::search(&part, limit(), |span| mine + others(span))?;
        Ok(end - at.since_time_zero())
    };
    let jobs = demand::step_offsets(own).take_while(|at| *at < until);
    number(fixed_point::max_response_time(jobs.map(response)))
}

fn floating(set: &Set, index: usize) -> Option<u64> {
    let more_urgent: Vec<_> = set.tasks[..index].iter().map(Task::demand).collect();
    let task = fixed_priority::floating_nonpreemptive::TaskUnderAnalysis {
        rbf: &set.tasks[index].demand(),
        blocking_bound: Service::from(set.tasks[index].blocking),
    };
    number(fixed_priority::floating_nonpreemptive::dedicated_uniproc_rta(&task, &more_urgent, limit()))
}

fn non_preemptive(set: &Set, index: usize) -> Option<u64> {
    let more_urgent: Vec<_> = set.tasks[..index].iter().map(Task::demand).collect();
    let own = &set.tasks[index];
    let task = fixed_priority::fully_nonpreemptive::TaskUnderAnalysis {
        wcet: own.cost(),
        arrivals: &own.punctual(),
        blocking_bound: Service::from(own.blocking),
    };
    number(fixed_priority::fully_nonpreemptive::dedicated_uniproc_rta(&task, &more_urgent, limit()))
}

fn with_jitter(set: &Set, index: usize) -> Option<u64> {
    with_arrivals(set, index, Task::late)
}

fn with_curves(set: &Set, index: usize) -> Option<u64> {
    with_arrivals(set, index, |task| Curve::from_arrival_bound(&task.late(), CURVE))
}

/// The task itself comes when it is due.
fn with_arrivals<A: ArrivalBound>(set: &Set, index: usize, arrivals: fn(&Task) -> A) -> Option<u64> {
    let more_urgent: Vec<_> =
        set.tasks[..index].iter().map(|task| RBF::new(arrivals(task), task.cost())).collect();
    let own = set.tasks[index].demand();
    number(fixed_priority::fully_preemptive::dedicated_uniproc_rta(&own, &more_urgent, limit()))
}

fn edf_preemptive(set: &Set, index: usize) -> Option<u64> {
    let demands: Vec<_> = set.tasks.iter().map(Task::demand).collect();
    let task = |k: usize| edf::fully_preemptive::Task { rbf: &demands[k], deadline: set.tasks[k].deadline() };
    let others: Vec<_> = (0..demands.len()).filter(|k| *k != index).map(task).collect();
    number(edf::fully_preemptive::dedicated_uniproc_rta(&task(index), &others, limit()))
}

fn edf_non_preemptive(set: &Set, index: usize) -> Option<u64> {
    let arrivals: Vec<_> = set.tasks.iter().map(Task::punctual).collect();
    let task = |k: usize| edf::fully_nonpreemptive::Task {
        wcet: set.tasks[k].cost(),
        arrivals: &arrivals[k],
        deadline: set.tasks[k].deadline(),
    };
    let others: Vec<_> = (0..arrivals.len()).filter(|k| *k != index).map(task).collect();
    number(edf::fully_nonpreemptive::dedicated_uniproc_rta(&task(index), &others, limit()))
}

/// One bound for all tasks.
fn first_in_first_out(set: &Set, _index: usize) -> Option<u64> {
    let demands: Vec<_> = set.tasks.iter().map(Task::demand).collect();
    number(fifo::dedicated_uniproc_rta(&demand::Slice::of(&demands), limit()))
}
