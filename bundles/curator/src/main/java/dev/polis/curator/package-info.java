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
 *                                            │ each call: a place in a round
 *                    RecordStore ── RecordReads · RecordChanges
 *                                            │ each round: one fenced transaction
 *                                            ▼
 *                                 etcd namespaced:curator/
 * </pre>
 *
 * <p>Every read and write of a leader is part of an etcd transaction that holds only while the
 * leader's lock exists (the fence); a leader that was replaced without noticing cannot write, and
 * its calls end with UNAVAILABLE. Calls share these transactions ({@code RecordRounds}): while one
 * is under way, those who come wait, and the next one serves all of them. A read is thus answered
 * from what was read after it was asked for, and changes take place one after the other, each on
 * what the one before has left, even where both are written at once; watchers may see the last of
 * them only. Callers are read from and written to outside of rounds, so no slow caller can hold up
 * another.
 *
 * <p>The services are registered with the RPC host once, when serving begins, and stay there; what
 * changes with leadership is only what stands behind {@code LeaderGate}. A call that arrives
 * between two leaders waits a little for the next one instead of failing.
 *
 * <p>Not promised: memory across leaders. Heartbeats are known to the present leader only, by
 * design: writing each of them to etcd would make the number of nodes the load of the store.
 *
 * <p>Why no cache of the records for reads: it would have to be fenced as well, and since callers
 * share reads, etcd is no longer what bounds them. Changes do start from the records as they were
 * last written here; the transaction compares their revisions, so that an old one costs a second
 * try and no wrong answer.
 *
 * <ul>
 *   <li>Needs: BootReport, Consensus, HealthRegistry, Network, RpcHost, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: BindableService, Curator
 *   <li>Configuration: dev.polis.curator
 *   <li>Files: none
 *   <li>Ports: 7835, curator
 * </ul>
 */
package dev.polis.curator;
