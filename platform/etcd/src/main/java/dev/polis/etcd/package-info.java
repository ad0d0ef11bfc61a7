/**
 * Gives the node access to etcd: namespaced reads and writes, leases, watches, values and elections
 * that survive the loss of connections and members.
 *
 * <pre>
 *   EtcdClient ── sub("a") ──▶ EtcdClient "namespaced:a/"     views, one connection
 *       │         SharedEtcdConnection: several clients of one user, one connection
 *       │
 *       ├─ KeyValues   get, range, put, delete, txn; fenced(...)      one call each
 *       ├─ Leases      grant, adopt            ─┐
 *       ├─ EtcdWatch   changes by revision      ├─ one keep-alive and one watch stream,
 *       ├─ Value       key or range, conflated  │  re-opened after every kind of end
 *       ├─ Election    leader, follower, neither┘
 *       └─ EtcdAdmin   members, users, maintenance (root namespace only)
 *            │
 *       EtcdConnection ── one channel for each member, the next one when one fails
 * </pre>
 *
 * <p>Three rules hold everywhere. A <b>write</b> is sent again only if etcd certainly did not apply
 * it; otherwise the caller learns that its outcome is unknown. The state of a <b>watch</b> is only
 * its next revision, so no end of a stream can lose or double a change. The life of a <b>lease</b>
 * counts here from the time at which the last answered request was sent, and includes suspensions
 * of the machine, so its holder stops before another one may start.
 *
 * <p>A leader of an <b>election</b> that ends is replaced within about a second, and not at the end
 * of its lease. While there are other candidates, it writes its lock three times in a second, in
 * transactions. Its certainty ends three quarters of a second after it has sent the last answered
 * one; another candidate removes the lock only a whole second after it has seen the last one, in a
 * transaction on the condition that this one is the last, and only if the leader's process or
 * machine has ended. So the time alone makes the removal safe, and the look at the process spares a
 * leader that is slow: it keeps its lock until its lease ends. A single candidate writes nothing.
 *
 * <p>Not promised: a watcher whose changes were compacted away sees their result, not each of them;
 * a lock does not stop its holder in the middle of a step, only a fence in the transaction does;
 * and the state of an election or a lease does not change while the machine is suspended, but soon
 * after. {@link Lease#isAlive()} and a {@link LeaderLease} say it at once.
 *
 * <p>Why not jetcd's own classes: its watch takes a completed stream for a wanted end, its leases
 * and deadlines follow the wall clock, and its API is made of futures. Its generated stubs are
 * used.
 */
@Export
@Version("3.2.0")
package dev.polis.etcd;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
