/**
 * Runs all tasks of a node in one tree, and restarts failed ones.
 *
 * <p>A <em>runnable</em> is a {@link dev.polis.supervision.Task} with a place in the tree. Its
 * distinguished name (DN) is the path to that place, and also the name of its journal in the log
 * tree. It runs on a virtual thread of its own, which the tree owns. It signals that it works
 * ({@code healthy()}) and, after a setup, that it is finished ({@code done()}, then return).
 *
 * <pre>
 *   root ── storage ─┬─ mount                     start ──▶ NEW ──healthy()──▶ HEALTHY ──done(), return──▶ DONE
 *     │  (subtree of │  (runnable)                 ▲         │                    │
 *     │   a bundle)  └─ scrub                      │         └───── fails ────────┤
 *     │                                            │  delay                       ▼
 *     └─ network ──┬─ dhcp ─┬─ lease   ◀─ group ─  ├──────────────────────────── DEAD      (itself failed)
 *                  │        └─ renew              └──────────────────────────── CANCELED  (fell with another one)
 *                  └─ hosts
 *                                                 a wanted stop:  any ──close()──▶ STOPPING ──▶ CANCELED, and gone
 * </pre>
 *
 * <p><b>Falling and rising.</b> A runnable that throws, or returns without having said that it is
 * done, is DEAD: one FATAL entry says why, in one line; with a stack trace if it was a defect (an
 * unchecked exception of Java's own). It takes along what it started itself and the other members
 * of its group, which are interrupted. When all of them have returned, they start again: those that
 * fell with it at once, the dead one after its delay. A run that became healthy is followed by a
 * restart at once (one such restart per second); otherwise delays grow 0.5 s × 1.5ⁿ up to 60 s, ±
 * 50 % by chance so that many do not return in step. Nothing is ever given up.
 *
 * <p><b>Stopping is not failing.</b> {@link dev.polis.supervision.Subtree#close} ends everything
 * under a name for a {@link dev.polis.base.boot.StopReason}, waits for it, and leaves no FATAL
 * behind. It goes in the order of dependence: what was started last is cancelled first, and each
 * runnable after its children. The reason tells a run whether its child processes and mounts end
 * with it or stay for a successor. Likewise a task that wants a fresh start because its
 * configuration changed throws {@link dev.polis.supervision.RestartRequest}. A bundle opens its
 * subtree with {@link dev.polis.supervision.Supervisor#organ} when its component activates and
 * closes it when it deactivates; the name is then free for the next instance. A next instance that
 * comes before that gets a number: {@code root.storage~2} beside {@code root.storage}. The number
 * is part of the name in the tree, in the health table and in metrics, so nothing there meets; the
 * log leaves it out, so both instances log to the same journals.
 *
 * <p><b>Cancellation is interruption.</b> A cancelled runnable has its thread interrupted and
 * should return soon, normally or by {@link java.lang.InterruptedException}. One that does not is
 * named in the log every 5 s with the line of code it is at, and is marked {@code overdue} in the
 * list of runnables. It delays only its own restart.
 *
 * <p><b>Not promised.</b> That code which neither blocks nor checks its interrupt can be ended:
 * nothing in Java can. That such a loop costs nothing: each one occupies a carrier thread of the
 * virtual threads, and when all are occupied no other runnable proceeds. The tree's timer is the
 * one platform thread here for just that reason: it continues to name the culprits in the log. That
 * a helper thread which a task starts by itself is known: who starts it ends it.
 *
 * <p><b>Why not {@code StructuredTaskScope} or an executor?</b> A structured scope ends when its
 * block ends and has no word for "again"; an executor forgets who asked for what. Restarting needs
 * a tree that outlives its runnables and knows whose failure concerns whom. Why not let DS
 * components restart? A component is a matter of wiring; that a connection broke does not change
 * the wiring.
 */
@Export
@Version("1.2.0")
package dev.polis.supervision;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
