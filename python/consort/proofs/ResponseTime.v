(* SPDX-License-Identifier: Apache-2.0 *)
(* Response times under preemptive fixed priorities on one core, in discrete time: from the definitions of releases and
   of a valid schedule to the theorem that a window that is as long as what it has to serve bounds every response. *)
From Coq Require Import Arith Lia Bool.

(* Sums *)

Fixpoint sum (n : nat) (f : nat -> nat) : nat :=
  match n with
  | 0 => 0
  | S m => sum m f + f m
  end.

Lemma sum_le : forall n f g, (forall k, k < n -> f k <= g k) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros f g H; simpl; [lia|].
  assert (f n <= g n) by (apply H; lia).
  assert (sum n f <= sum n g) by (apply IH; intros; apply H; lia).
  lia.
Qed.

Lemma sum_one_more : forall n f g j, (forall k, k < n -> f k <= g k) -> j < n -> f j < g j ->
  sum n f < sum n g.
Proof.
  induction n as [|n IH]; intros f g j H J L; simpl; [lia|].
  assert (f n <= g n) by (apply H; lia).
  destruct (Nat.eq_dec j n) as [->|N].
  - assert (sum n f <= sum n g) by (apply sum_le; intros; apply H; lia). lia.
  - assert (sum n f < sum n g) by (apply (IH f g j); [intros; apply H; lia|lia|exact L]). lia.
Qed.

Lemma sum_less : forall n f g, sum n f < sum n g -> exists k, k < n /\ f k < g k.
Proof.
  induction n as [|n IH]; intros f g H; simpl in H; [lia|].
  destruct (le_lt_dec (g n) (f n)) as [L|L].
  - destruct (IH f g) as [k [K F]]; [lia|]. exists k. split; [lia|exact F].
  - exists n. split; [lia|exact L].
Qed.

Lemma sum_equal : forall n f g, (forall k, k < n -> f k <= g k) -> sum n g <= sum n f ->
  forall k, k < n -> f k = g k.
Proof.
  intros n f g H E k K. destruct (Nat.eq_dec (f k) (g k)) as [|N]; [assumption|].
  assert (f k <= g k) by (apply H; exact K).
  assert (sum n f < sum n g) by (apply (sum_one_more n f g k); [exact H|exact K|lia]).
  lia.
Qed.

Lemma sum_plus : forall n f g, sum n (fun k => f k + g k) = sum n f + sum n g.
Proof. induction n as [|n IH]; intros f g; simpl; [reflexivity|]. rewrite IH. lia. Qed.

Lemma sum_single : forall n i c, i < n -> sum n (fun k => if k =? i then c else 0) = c.
Proof.
  intros n i c. assert (Z : forall m, m <= i -> sum m (fun k => if k =? i then c else 0) = 0).
  { induction m as [|m IH]; intros A; simpl; [reflexivity|].
    destruct (m =? i) eqn:E; [apply Nat.eqb_eq in E; lia|]. rewrite IH; lia. }
  induction n as [|n IH]; intros H; [lia|]. simpl. destruct (n =? i) eqn:E.
  - apply Nat.eqb_eq in E. subst n. rewrite Z; lia.
  - apply Nat.eqb_neq in E. rewrite IH; lia.
Qed.

(* The tasks and what they may do *)

(* Of each task, by number: its longest execution, the least distance at which its jobs are due, how much later than
   due they are released at most, how urgent it is (0 the most), and how long what is less urgent may hold the core. *)
Record parameters := {
  number : nat;
  cost : nat -> nat;
  distance : nat -> nat;
  jitter : nat -> nat;
  level : nat -> nat;
  hold : nat -> nat;
}.

(* What happens: which task releases a job at which instant, when that job was due, how long it executes, and whose job
   runs. *)
Record events := {
  releases : nat -> nat -> bool;
  due : nat -> nat -> nat;
  executes : nat -> nat -> nat;
  running : nat -> option nat;
}.

Definition runs (e : events) (k t : nat) : bool :=
  match running e t with Some j => j =? k | None => false end.

(* Up to an instant: jobs released, the execution that they ask for, and what the task has got of it. *)
Definition jobs (e : events) (k t : nat) := sum t (fun s => if releases e k s then 1 else 0).
Definition asked (e : events) (k t : nat) := sum t (fun s => if releases e k s then executes e k s else 0).
Definition served (e : events) (k t : nat) := sum t (fun s => if runs e k s then 1 else 0).

(* At t the task has a job that is released, at t at the latest, and not done. *)
Definition pending (e : events) (k t : nat) := served e k t < asked e k (S t).

(* What runs is as urgent as task i, or more so. *)
Definition as_urgent (p : parameters) (e : events) (i t : nat) : bool :=
  match running e t with Some j => level p j <=? level p i | None => false end.

Record valid (p : parameters) (e : events) : Prop := {
  spaced : forall k s t, k < number p -> releases e k s = true -> releases e k t = true -> s < t ->
    due e k s + distance p k <= due e k t;
  late : forall k t, k < number p -> releases e k t = true -> due e k t <= t /\ t <= due e k t + jitter p k;
  bounded : forall k t, k < number p -> releases e k t = true -> executes e k t <= cost p k;
  (* Only what is pending runs, and while something as urgent as i or more so is pending something such runs, but for
     the time that what is less urgent may hold the core, if at all (a section without preemption, a switch). *)
  useful : forall k t, running e t = Some k -> k < number p /\ pending e k t;
  urgent : forall i t d, i < number p ->
    (forall s, t <= s -> s < t + d -> exists k, k < number p /\ level p k <= level p i /\ pending e k s) ->
    sum d (fun s => if as_urgent p e i (t + s) then 0 else 1) <= hold p i;
}.

(* Jobs of one task run in the order of their releases: that of instant r is done when all are that came up to r. *)
Definition done (e : events) (k r t : nat) := asked e k (S r) <= served e k t.

Definition responds_within (p : parameters) (k bound : nat) : Prop :=
  forall e, valid p e -> forall r, releases e k r = true -> done e k r (due e k r + bound).

(* The window *)

Section Window.

Variables (p : parameters) (e : events) (V : valid p e).
Variable i : nat.
Hypothesis I : i < number p.
(* At most so many releases of a task fit in a window of a length. *)
Variable fit : nat -> nat -> nat.
Hypothesis fits : forall k m w, k < number p -> m * distance p k < w + jitter p k -> m < fit k w.

Definition hep (k : nat) : bool := level p k <=? level p i.
Definition among (f : nat -> nat) (k : nat) : nat := if hep k then f k else 0.
Definition all_asked (t : nat) := sum (number p) (among (fun k => asked e k t)).
Definition all_served (t : nat) := sum (number p) (among (fun k => served e k t)).
Definition quiet (t : nat) := all_asked t <= all_served t.

Lemma hep_i : hep i = true.
Proof. unfold hep. apply Nat.leb_refl. Qed.

Lemma asked_grows : forall k s t, s <= t -> asked e k s <= asked e k t.
Proof.
  intros k s t H. induction H as [|t H IH]; [lia|]. unfold asked in *. simpl.
  destruct (releases e k t); lia.
Qed.

Lemma served_grows : forall k s t, s <= t -> served e k s <= served e k t.
Proof.
  intros k s t H. induction H as [|t H IH]; [lia|]. unfold served in *. simpl. destruct (runs e k t); lia.
Qed.

Lemma jobs_grow : forall k s t, s <= t -> jobs e k s <= jobs e k t.
Proof.
  intros k s t H. induction H as [|t H IH]; [lia|]. unfold jobs in *. simpl. destruct (releases e k t); lia.
Qed.

Lemma served_asked : forall k t, served e k t <= asked e k t.
Proof.
  intros k t. induction t as [|t IH]; [unfold served, asked; simpl; lia|].
  assert (G : asked e k t <= asked e k (S t)) by (apply asked_grows; lia).
  unfold served in *. simpl. destruct (runs e k t) eqn:R; [|lia].
  unfold runs in R. destruct (running e t) as [j|] eqn:J; [|discriminate].
  apply Nat.eqb_eq in R. subst j.
  destruct (useful _ _ V k t J) as [_ P]. unfold pending, served in P. lia.
Qed.

Lemma spread : forall k m s t, k < number p -> s <= t -> jobs e k t = jobs e k s + S m ->
  exists f l, s <= f /\ l < t /\ releases e k f = true /\ releases e k l = true /\
    due e k f + m * distance p k <= due e k l.
Proof.
  intros k m s t K H. revert m. induction H as [|t H IH]; intros m E; [lia|].
  unfold jobs in E. simpl in E. fold (jobs e k t) in E. fold (jobs e k s) in E.
  destruct (releases e k t) eqn:R.
  - destruct m as [|m].
    + exists t, t. repeat split; try assumption; lia.
    + destruct (IH m) as [f [l [F [L [RF [RL D]]]]]]; [lia|].
      exists f, t. repeat split; try assumption; try lia.
      assert (due e k l + distance p k <= due e k t) by (apply (spaced _ _ V k l t K RL R L)).
      simpl. lia.
  - destruct (IH m) as [f [l [F [L [RF [RL D]]]]]]; [lia|].
    exists f, l. repeat split; try assumption; lia.
Qed.

Lemma asked_by_jobs : forall k s t, k < number p -> s <= t ->
  asked e k t <= asked e k s + (jobs e k t - jobs e k s) * cost p k.
Proof.
  intros k s t K H. induction H as [|t H IH]; [lia|].
  assert (G : jobs e k s <= jobs e k t) by (apply jobs_grow; exact H).
  unfold asked, jobs in *. simpl.
  destruct (releases e k t) eqn:R.
  - assert (executes e k t <= cost p k) by (apply (bounded _ _ V k t K R)).
    replace (sum t (fun s0 => if releases e k s0 then 1 else 0) + 1 - sum s (fun s0 => if releases e k s0 then 1 else 0))
      with (S (sum t (fun s0 => if releases e k s0 then 1 else 0) - sum s (fun s0 => if releases e k s0 then 1 else 0)))
      by lia.
    simpl. lia.
  - rewrite !Nat.add_0_r. exact IH.
Qed.

Lemma jobs_fit : forall k t w, k < number p -> jobs e k (t + w) - jobs e k t <= fit k w.
Proof.
  intros k t w K. destruct (jobs e k (t + w) - jobs e k t) as [|m] eqn:E; [lia|].
  destruct (spread k m t (t + w) K) as [f [l [F [L [RF [RL D]]]]]]; [lia|lia|].
  destruct (late _ _ V k f K RF) as [_ A]. destruct (late _ _ V k l K RL) as [B _].
  assert (m < fit k w) by (apply fits; [exact K|lia]). lia.
Qed.

Lemma last_quiet : forall r, exists t, t <= r /\ quiet t /\ forall s, t < s -> s <= r -> ~ quiet s.
Proof.
  induction r as [|r [t [T [Q N]]]].
  - exists 0. split; [lia|]. split; [|intros; lia].
    unfold quiet, all_asked, all_served. apply sum_le. intros k _. unfold among, asked, served. simpl.
    destruct (hep k); lia.
  - destruct (le_lt_dec (all_asked (S r)) (all_served (S r))) as [L|L].
    + exists (S r). split; [lia|]. split; [exact L|intros; lia].
    + exists t. split; [lia|]. split; [exact Q|]. intros s A B.
      destruct (Nat.eq_dec s (S r)) as [->|D]; [unfold quiet; lia|apply N; lia].
Qed.

Definition wanted (t : nat) : Prop := exists k, k < number p /\ level p k <= level p i /\ pending e k t.

Lemma busy_before : forall t, ~ quiet (S t) -> wanted t.
Proof.
  intros t Q. unfold quiet, all_asked, all_served in Q.
  destruct (sum_less (number p) (among (fun k => served e k (S t))) (among (fun k => asked e k (S t))))
    as [k [K L]]; [lia|].
  unfold among in L. destruct (hep k) eqn:H; [|lia].
  exists k. unfold hep in H. apply Nat.leb_le in H. repeat split; [exact K|exact H|]. unfold pending.
  assert (served e k t <= served e k (S t)) by (apply served_grows; lia). lia.
Qed.

Lemma busy_serves : forall t d, (forall s, t <= s -> s < t + d -> wanted s) ->
  all_served t + d <= all_served (t + d) + hold p i.
Proof.
  intros t d B.
  assert (G : all_served t + d <= all_served (t + d) + sum d (fun s => if as_urgent p e i (t + s) then 0 else 1)).
  { clear B. induction d as [|d IH]; [simpl; rewrite !Nat.add_0_r; lia|].
    replace (t + S d) with (S (t + d)) by lia. simpl sum.
    destruct (as_urgent p e i (t + d)) eqn:U.
    - assert (all_served (t + d) < all_served (S (t + d))); [|lia].
      unfold as_urgent in U. destruct (running e (t + d)) as [j|] eqn:R; [|discriminate].
      destruct (useful _ _ V j (t + d) R) as [J _].
      unfold all_served. apply (sum_one_more _ _ _ j).
      + intros k _. unfold among. destruct (hep k); [|lia]. apply served_grows. lia.
      + exact J.
      + unfold among, hep. rewrite U. unfold served. simpl. unfold runs at 3. rewrite R, Nat.eqb_refl. lia.
    - assert (all_served (t + d) <= all_served (S (t + d))); [|lia].
      unfold all_served. apply sum_le. intros k _. unfold among. destruct (hep k); [|lia]. apply served_grows. lia. }
  assert (sum d (fun s => if as_urgent p e i (t + s) then 0 else 1) <= hold p i)
    by (apply (urgent _ _ V i t d I); exact B).
  lia.
Qed.

(* What a window of length w may have to serve of the others, and of the first q + 1 jobs of i besides. *)
Definition others (w : nat) (k : nat) : nat := if (k =? i) then 0 else among (fun k => fit k w * cost p k) k.
Definition demand (q w : nat) := hold p i + (S q * cost p i + sum (number p) (others w)).

(* A window that is served throughout and gets less of i than its jobs ask for is shorter than its demand. *)
Lemma short : forall t w q own, quiet t ->
  (forall s, t <= s -> s < t + w -> wanted s) ->
  served e i (t + w) < own -> own <= asked e i t + S q * cost p i -> w < demand q w.
Proof.
  intros t w q own Q B L O.
  assert (G : all_served t + w <= all_served (t + w) + hold p i) by (apply busy_serves; exact B).
  assert (E : forall k, k < number p -> among (fun k => served e k t) k = among (fun k => asked e k t) k).
  { apply sum_equal; [|exact Q]. intros k _. unfold among. destruct (hep k); [apply served_asked|lia]. }
  assert (H : all_served (t + w) < all_served t + (S q * cost p i + sum (number p) (others w))).
  { unfold all_served.
    set (mine := fun k => if k =? i then S q * cost p i else 0).
    assert (M : sum (number p) mine = S q * cost p i) by (apply sum_single; exact I).
    rewrite <- M. rewrite <- !sum_plus.
    apply (sum_one_more _ _ _ i); [|exact I|].
    - intros k K. specialize (E k K). unfold mine, others. unfold among in *.
      destruct (hep k) eqn:A; [|destruct (k =? i); lia].
      destruct (k =? i) eqn:D.
      + apply Nat.eqb_eq in D. subst k. lia.
      + assert (served e k (t + w) <= asked e k (t + w)) by apply served_asked.
        assert (asked e k (t + w) <= asked e k t + (jobs e k (t + w) - jobs e k t) * cost p k)
          by (apply asked_by_jobs; [exact K|lia]).
        assert ((jobs e k (t + w) - jobs e k t) * cost p k <= fit k w * cost p k)
          by (apply Nat.mul_le_mono_r; apply jobs_fit; exact K).
        lia.
    - specialize (E i I). unfold mine, others. unfold among in *. rewrite hep_i in *. rewrite Nat.eqb_refl. lia. }
  unfold demand. lia.
Qed.

Section Job.

Variables r t : nat.
Hypothesis R : releases e i r = true.
Hypothesis T : t <= r.
Hypothesis Q : quiet t.
Hypothesis N : forall s, t < s -> s <= r -> ~ quiet s.

Lemma busy_until : forall s, t <= s -> s < r -> wanted s.
Proof. intros s A B. apply busy_before. apply N; lia. Qed.

Lemma jobs_at : jobs e i (S r) = S (jobs e i r).
Proof. unfold jobs. simpl. rewrite R. lia. Qed.

(* The job's number in the window, from 0, says how much later than the window it comes at the earliest. *)
Lemma comes_later : t + (jobs e i r - jobs e i t) * distance p i <= due e i r + jitter p i.
Proof.
  assert (G : jobs e i t <= jobs e i r) by (apply jobs_grow; exact T).
  destruct (spread i (jobs e i r - jobs e i t) t (S r) I) as [f [l [F [L [RF [RL D]]]]]];
    [lia|rewrite jobs_at; lia|].
  destruct (late _ _ V i f I RF) as [_ A].
  assert (due e i l <= due e i r); [|lia].
  destruct (Nat.eq_dec l r) as [->|X]; [lia|].
  assert (due e i l + distance p i <= due e i r) by (apply (spaced _ _ V i l r I RL R); lia). lia.
Qed.

(* If a window that begins there is over before the job comes, one of its moments was quiet. *)
Lemma not_over : forall w q, 0 < w -> t + w <= r -> jobs e i (t + w) - jobs e i t <= S q -> demand q w <= w -> False.
Proof.
  intros w q W O J D.
  assert (A : asked e i (t + w) <= asked e i t + S q * cost p i).
  { assert (asked e i (t + w) <= asked e i t + (jobs e i (t + w) - jobs e i t) * cost p i)
      by (apply asked_by_jobs; [exact I|lia]).
    assert ((jobs e i (t + w) - jobs e i t) * cost p i <= S q * cost p i) by (apply Nat.mul_le_mono_r; exact J).
    lia. }
  assert (B : forall s, t <= s -> s < t + w -> wanted s)
    by (intros; apply busy_until; lia).
  assert (G : all_served t + w <= all_served (t + w) + hold p i) by (apply busy_serves; exact B).
  assert (M : ~ quiet (t + w)) by (apply N; lia). unfold quiet in M, Q.
  (* All that the window has to serve is at most its demand, and it served w of that, so at its end all was served. *)
  assert (U : all_asked (t + w) <= all_asked t + (S q * cost p i + sum (number p) (others w))).
  { unfold all_asked.
    set (mine := fun k => if k =? i then S q * cost p i else 0).
    assert (Z : sum (number p) mine = S q * cost p i) by (apply sum_single; exact I).
    rewrite <- Z. rewrite <- !sum_plus. apply sum_le. intros k K. unfold mine, others, among.
    destruct (hep k) eqn:H; [|destruct (k =? i); lia].
    destruct (k =? i) eqn:E.
    - apply Nat.eqb_eq in E. subst k. lia.
    - assert (asked e k (t + w) <= asked e k t + (jobs e k (t + w) - jobs e k t) * cost p k)
        by (apply asked_by_jobs; [exact K|lia]).
      assert ((jobs e k (t + w) - jobs e k t) * cost p k <= fit k w * cost p k)
        by (apply Nat.mul_le_mono_r; apply jobs_fit; exact K).
      lia. }
  unfold demand in D. lia.
Qed.

Lemma done_in_window : forall w, 0 < w -> demand (jobs e i r - jobs e i t) w <= w -> done e i r (t + w).
Proof.
  intros w W D. unfold done.
  assert (G : jobs e i t <= jobs e i r) by (apply jobs_grow; exact T).
  destruct (le_lt_dec (t + w) r) as [O|O].
  - exfalso. apply (not_over w (jobs e i r - jobs e i t)); [exact W|exact O| |exact D].
    assert (jobs e i (t + w) <= jobs e i r) by (apply jobs_grow; exact O). lia.
  - destruct (le_lt_dec (asked e i (S r)) (served e i (t + w))) as [L|L]; [exact L|exfalso].
    assert (w < demand (jobs e i r - jobs e i t) w); [|lia].
    apply (short t w _ (asked e i (S r)) Q); [|exact L|].
    + intros s A B. destruct (le_lt_dec r s) as [C|C]; [|apply busy_until; assumption].
      exists i. repeat split; [exact I|lia|]. unfold pending.
      assert (served e i s <= served e i (t + w)) by (apply served_grows; lia).
      assert (asked e i (S r) <= asked e i (S s)) by (apply asked_grows; lia). lia.
    + assert (asked e i (S r) <= asked e i t + (jobs e i (S r) - jobs e i t) * cost p i)
        by (apply asked_by_jobs; [exact I|lia]).
      rewrite jobs_at in H. replace (S (jobs e i r) - jobs e i t) with (S (jobs e i r - jobs e i t)) in H by lia.
      exact H.
Qed.

Lemma no_later_job : forall w q, 0 < w -> demand q w <= w -> w + jitter p i <= S q * distance p i ->
  jobs e i r - jobs e i t <= q.
Proof.
  intros w q W D L. destruct (le_lt_dec (jobs e i r - jobs e i t) q) as [A|A]; [exact A|exfalso].
  assert (C : t + (jobs e i r - jobs e i t) * distance p i <= due e i r + jitter p i) by exact comes_later.
  destruct (late _ _ V i r I R) as [Y _].
  assert (S q * distance p i <= (jobs e i r - jobs e i t) * distance p i) by (apply Nat.mul_le_mono_r; lia).
  apply (not_over w q W); [lia| |exact D].
  destruct (jobs e i (t + w) - jobs e i t) as [|m] eqn:E; [lia|].
  destruct (spread i m t (t + w) I) as [f [l [F [G [RF [RL B]]]]]]; [lia|lia|].
  destruct (late _ _ V i f I RF) as [_ Z]. destruct (late _ _ V i l I RL) as [X _].
  assert (m * distance p i < S q * distance p i) by lia.
  assert (m < S q) by (apply (Nat.mul_lt_mono_pos_r (distance p i)); [lia|assumption]). lia.
Qed.

End Job.

(* Of each job of the window a length that serves it in time, up to one after which no next job can be in it. *)
Theorem bounds : forall bound last (length : nat -> nat),
  (forall q, q <= last -> 0 < length q) ->
  (forall q, q <= last -> demand q (length q) <= length q) ->
  (forall q, q <= last -> length q + jitter p i <= bound + q * distance p i) ->
  length last + jitter p i <= S last * distance p i ->
  forall r, releases e i r = true -> done e i r (due e i r + bound).
Proof.
  intros bound last length P D B L r R.
  destruct (last_quiet r) as [t [T [Q N]]].
  assert (K : jobs e i r - jobs e i t <= last)
    by (apply (no_later_job r t R T Q N (length last)); [apply P; lia|apply D; lia|exact L]).
  set (q := jobs e i r - jobs e i t) in *.
  assert (X : done e i r (t + length q)) by (apply (done_in_window r t R T Q N); [apply P; exact K|apply D; exact K]).
  assert (C : t + q * distance p i <= due e i r + jitter p i) by (apply (comes_later r t R T)).
  assert (length q + jitter p i <= bound + q * distance p i) by (apply B; exact K).
  unfold done in *. assert (served e i (t + length q) <= served e i (due e i r + bound)) by (apply served_grows; lia). lia.
Qed.

End Window.
