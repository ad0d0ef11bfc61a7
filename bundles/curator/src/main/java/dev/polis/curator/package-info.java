/**
 * The curator: the cluster's records in etcd, behind gRPC.
 *
 * <pre>
 *                 ┌───────────── CuratorComponent ─────────────┐
 *   cluster ────▶ │ CuratorService  bootstrap · serve · status │
 *                 └────────┬───────────────────────────────────┘
 *                          │ supervises
 *              CuratorElection ── won ──▶ LeaderTerm (etcd + fence + memory of this leader)
 *                                            │
 *      LeaderManagement  LeaderAaa  LeaderCurator  LeaderEtcd      CuratorLocal (always)
 *                └────────┴──── LeaderGate ┴────────┘
 *                                            │ each call: one fenced transaction
 *                                            ▼
 *                                  RecordStore ──▶ etcd namespaced:curator/
 * </pre>
 *
 * <p>Every read and write of a leader is one etcd transaction that holds only while the leader's
 * lock exists (the fence); a leader that was replaced without noticing cannot write, and its calls
 * end with UNAVAILABLE. Changes of records take turns only while etcd is asked, never while a
 * caller is read from or written to, so no slow caller can hold up another; a record that somebody
 * else changed between read and write is read again.
 *
 * <p>The services are registered with the RPC host once, when serving begins, and stay there; what
 * changes with leadership is only what stands behind {@code LeaderGate}. A call that arrives
 * between two leaders waits a little for the next one instead of failing.
 *
 * <p>Not promised: memory across leaders. Heartbeats are known to the present leader only, by
 * design: writing each of them to etcd would make the number of nodes the load of the store.
 *
 * <p>Why no cache of the records in front of etcd: it would have to be fenced as well, and a read
 * of a few kilobytes from a local etcd costs less than a millisecond.
 */
package dev.polis.curator;
