(* SPDX-License-Identifier: Apache-2.0 *)
(* What a certificate computes, in binary numbers, and that it bounds every response. *)
From Coq Require Import Arith Lia Bool List NArith.
From Consort Require Import ResponseTime.

(* A task: its longest execution, the least distance at which its jobs are due, how much later they come at most, how
   urgent it is (0 the most), and how long what is less urgent may hold the core while it is pending. *)
Record task := { wcet : N; apart : N; lateness : N; rank : N; held : N }.
Definition nothing : task := {| wcet := 0; apart := 1; lateness := 0; rank := 0; held := 0 |}.
Definition at_ (ts : list task) (k : nat) : task := nth k ts nothing.

Definition of (ts : list task) : parameters := {|
  number := length ts;
  cost k := N.to_nat (wcet (at_ ts k));
  distance k := N.to_nat (apart (at_ ts k));
  jitter k := N.to_nat (lateness (at_ ts k));
  level k := N.to_nat (rank (at_ ts k));
  hold k := N.to_nat (held (at_ ts k));
|}.

(* Every job of a task is done so long after it was due, at the latest. *)
Definition bounded_by (ts : list task) (k : nat) (bound : N) : Prop := responds_within (of ts) k (N.to_nat bound).

Definition most (t : task) (w : N) : N := (w + lateness t + apart t - 1) / apart t.

Fixpoint total (n : nat) (f : nat -> N) : N :=
  match n with
  | O => 0
  | S m => total m f + f m
  end.

Definition others_ask (ts : list task) (i : nat) (w : N) (k : nat) : N :=
  if Nat.eqb k i then 0
  else if (rank (at_ ts k) <=? rank (at_ ts i))%N then most (at_ ts k) w * wcet (at_ ts k) else 0.

Definition asks (ts : list task) (i q : nat) (w : N) : N :=
  held (at_ ts i) + (N.of_nat (S q) * wcet (at_ ts i) + total (length ts) (others_ask ts i w)).

(* Windows for the jobs numbered q, q + 1, … of a busy one. *)
Fixpoint windows (ts : list task) (i : nat) (bound : N) (q : nat) (ws : list N) : bool :=
  match ws with
  | nil => false
  | (w :: rest)%list =>
      (0 <? w)%N && (asks ts i q w <=? w)%N && (w + lateness (at_ ts i) <=? bound + N.of_nat q * apart (at_ ts i))%N &&
      match rest with
      | nil => (w + lateness (at_ ts i) <=? N.of_nat (S q) * apart (at_ ts i))%N
      | _ => windows ts i bound (S q) rest
      end
  end.

Definition check (ts : list task) (i : nat) (bound : N) (ws : list N) : bool :=
  (i <? length ts) && forallb (fun t => 0 <? apart t)%N ts && windows ts i bound 0 ws.

Section Sound.

Variables (ts : list task) (i : nat) (bound : N).

Definition fit (k w : nat) : nat := N.to_nat (most (at_ ts k) (N.of_nat w)).

Lemma to_total : forall n f g, (forall k, k < n -> N.to_nat (f k) = g k) -> N.to_nat (total n f) = sum n g.
Proof.
  induction n as [|n IH]; intros f g H; simpl; [reflexivity|].
  rewrite N2Nat.inj_add, (IH f g), H; [reflexivity|lia|intros; apply H; lia].
Qed.

Lemma to_leb : forall a b, (a <=? b)%N = (N.to_nat a <=? N.to_nat b).
Proof.
  intros a b. destruct (a <=? b)%N eqn:E; symmetry.
  - apply N.leb_le in E. apply Nat.leb_le. lia.
  - apply N.leb_gt in E. apply Nat.leb_gt. lia.
Qed.

Lemma to_demand : forall q w, N.to_nat (asks ts i q w) = demand (of ts) i fit q (N.to_nat w).
Proof.
  intros q w. unfold asks, demand. rewrite !N2Nat.inj_add, N2Nat.inj_mul, Nat2N.id.
  rewrite (to_total _ _ (others (of ts) i fit (N.to_nat w))); [reflexivity|].
  intros k _. unfold others_ask, others, among, hep, fit. simpl. rewrite to_leb, N2Nat.id.
  destruct (Nat.eqb k i); [reflexivity|].
  destruct (N.to_nat (rank (at_ ts k)) <=? N.to_nat (rank (at_ ts i))); [apply N2Nat.inj_mul|reflexivity].
Qed.

Lemma fits : forallb (fun t => 0 <? apart t)%N ts = true ->
  forall k m w, k < number (of ts) -> m * distance (of ts) k < w + jitter (of ts) k -> m < fit k w.
Proof.
  intros A k m w K H. simpl in *. rewrite forallb_forall in A.
  assert (P : (0 < apart (at_ ts k))%N) by (apply N.ltb_lt; apply A; apply nth_In; exact K).
  unfold fit, most. set (d := apart (at_ ts k)) in *.
  set (j := lateness (at_ ts k)) in *. assert (L : (N.of_nat m * d < N.of_nat w + j)%N).
  { rewrite <- (N2Nat.id d), <- Nat2N.inj_mul. lia. }
  assert (X : (N.of_nat (S m) <= (N.of_nat w + j + d - 1) / d)%N).
  { apply N.div_le_lower_bound; [lia|]. rewrite Nat2N.inj_succ, N.mul_succ_r, N.mul_comm. lia. }
  lia.
Qed.

Lemma each_window : forall ws q, windows ts i bound q ws = true ->
  0 < length ws /\
  (forall n, n < length ws -> let w := nth n ws 0%N in
    (0 < w)%N /\ (asks ts i (q + n) w <= w)%N /\ (w + lateness (at_ ts i) <= bound + N.of_nat (q + n) * apart (at_ ts i))%N) /\
  (nth (length ws - 1) ws 0 + lateness (at_ ts i) <= N.of_nat (S (q + (length ws - 1))) * apart (at_ ts i))%N.
Proof.
  induction ws as [|w rest IH]; intros q H; [discriminate|].
  cbn [windows] in H. apply andb_prop in H. destruct H as [H L]. apply andb_prop in H. destruct H as [H B].
  apply andb_prop in H. destruct H as [P D]. apply N.ltb_lt in P. apply N.leb_le in D, B.
  split; [simpl; lia|].
  destruct rest as [|v rest].
  - apply N.leb_le in L. simpl length. split.
    + intros n A. assert (n = 0) by lia. subst n. rewrite Nat.add_0_r. simpl. auto.
    + simpl nth. rewrite Nat.add_0_r. exact L.
  - destruct (IH (S q) L) as [_ [E F]]. split.
    + intros [|n] A; [rewrite Nat.add_0_r; simpl; auto|].
      replace (q + S n) with (S q + n) by lia. apply (E n). simpl in *. lia.
    + replace (length (w :: v :: rest) - 1) with (S (length (v :: rest) - 1)) by (simpl; lia).
      replace (q + S (length (v :: rest) - 1)) with (S q + (length (v :: rest) - 1)) by lia. exact F.
Qed.

Theorem certified : forall ws, check ts i bound ws = true -> bounded_by ts i bound.
Proof.
  intros ws C. unfold check in C. apply andb_prop in C. destruct C as [C W]. apply andb_prop in C. destruct C as [I A].
  apply Nat.ltb_lt in I. destruct (each_window ws 0 W) as [P [E L]]. cbv zeta in E. cbn [Nat.add] in E, L.
  intros e V. apply (bounds (of ts) e V i I fit (fits A) (N.to_nat bound) (length ws - 1) (fun q => N.to_nat (nth q ws 0%N))).
  - intros q Q. cbv beta. destruct (E q) as [X _]; lia.
  - intros q Q. cbv beta. destruct (E q) as [_ [X _]]; [lia|]. rewrite <- to_demand. lia.
  - intros q Q. cbv beta. destruct (E q) as [_ [_ X]]; [lia|]. unfold of. cbn [distance jitter].
    rewrite <- (Nat2N.id q) at 2. rewrite <- N2Nat.inj_mul. lia.
  - unfold of. cbn [distance jitter]. set (n := S (length ws - 1)) in *.
    replace (n * _) with (N.to_nat (N.of_nat n * apart (at_ ts i))) by (rewrite N2Nat.inj_mul, Nat2N.id; reflexivity).
    lia.
Qed.

End Sound.
