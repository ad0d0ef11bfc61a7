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
 * <p><b>Falling and rising.</b> A runnable that throws, or returns without a done signal, is DEAD:
 * one FATAL entry has the reason in one line, with a stack trace for a defect (an unchecked
 * exception of Java's own). The tree then interrupts its children and the other members of its
 * group. When all of them have returned, they start again: the others at once, the dead one after
 * its delay. After a healthy run the restart comes at once (one such restart per second); otherwise
 * delays grow 0.5 s × 1.5ⁿ up to 60 s, ± 50 % by chance so that many do not return in step. The
 * tree never stops trying.
 *
 * <p><b>Stopping is not failing.</b> {@link dev.polis.supervision.Subtree#close} ends everything
 * under a name for a {@link dev.polis.base.boot.StopReason}, waits for it, and leaves no FATAL
 * behind. It follows the order of dependence: the tree cancels the last started runnable first, and
 * each runnable after its children. The reason tells a run whether its child processes and mounts
 * end with it or stay for a successor. Likewise a task that wants a fresh start because its
 * configuration changed throws {@link dev.polis.supervision.RestartRequest}. A bundle opens its
 * subtree with {@link dev.polis.supervision.Supervisor#organ} when its component activates and
 * closes it when it deactivates; the name is then free for the next instance. A next instance that
 * comes before that gets a number: {@code root.storage~2} beside {@code root.storage}. The number
 * is part of the name in the tree, in the health table and in metrics, so the names there differ;
 * the log omits it, so both instances log to the same journals.
 *
 * <p><b>Cancellation is interruption.</b> The tree interrupts the thread of a cancelled runnable,
 * which should return soon, normally or by {@link java.lang.InterruptedException}. If it does not,
 * the log names it every 5 s with its present line of code, and the list of runnables marks it as
 * {@code overdue}. It delays only its own restart.
 *
 * <p><b>Not promised.</b> That code which neither blocks nor checks its interrupt can be ended:
 * nothing in Java can. That such a loop costs nothing: each one occupies a carrier thread of the
 * virtual threads, and when all are occupied no other runnable proceeds. The tree's timer and the
 * threads that call listeners are platform threads for just that reason: the log continues to name
 * the culprits. That the tree knows a helper thread of a task: the task that starts it ends it.
 *
 * <p><b>Why not {@code StructuredTaskScope} or an executor?</b> A structured scope ends with its
 * block and cannot start again; an executor does not know the relations of its tasks. A restart
 * needs a tree that survives its runnables and knows which others a failure affects. Why not let DS
 * components restart? A component is a matter of wiring; that a connection broke does not change
 * the wiring.
 */
@Export
@Version("1.3.0")
package dev.polis.supervision;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
