/**
 * Computes the pauses between failed attempts, and waits in spite of interrupts.
 *
 * <pre>
 *   attempt fails ──▶ Backoff.next() ──▶ wait ──▶ attempt fails ──▶ next() ──▶ …
 *                        first ± half              1.5 × first ± half     at most longest ± half
 *   attempt succeeds ──▶ Backoff.reset(): the next pause is the first again
 * </pre>
 *
 * <p>The supervision tree, the etcd client, the resolver of the leader and the roles organ use this
 * one class. They differ in their first and longest pause only.
 *
 * <p>Not promised: a limit on attempts or on the whole time. The caller decides when to give up.
 *
 * <p>Why not a retry library: its loop would own the thread, and here an attempt is a stream, a
 * restart or a call, each with a wait of its own kind.
 */
@Export
@Version("1.1.0")
package dev.polis.base.backoff;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
