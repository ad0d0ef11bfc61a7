/**
 * Keeps the cluster's records in etcd and serves the API for them over gRPC.
 *
 * <pre>
 *   CuratorConfig ─▶ CuratorSettings ─▶ CuratorService ◀─ CuratorComponent ◀─ cluster organ
 *                                          │ supervises
 *                 ┌────────────────────────┼──────────────────────┐
 *         CuratorElection   RevocationWatch · TrustedKeysWatch   health
 *                 │ won
 *             LeaderTerm   HeartbeatMonitor · NodeWatchBroadcaster ·
 *                 │        PluginSetWatch · RecordStore
 *                 │                                                     │ RequestBatcher:
 *             LeaderGate ◀── ManagementApi · AaaApi · CuratorApi ·      │ one fenced transaction
 *                            PluginTrustApi · PluginSetApi              │ for all waiting calls
 *                            (EtcdApi and CuratorLocalApi need          ▼
 *                            no leader)
 *                                                         etcd, namespace curator/
 * </pre>
 *
 * <p>Each task, with what comes in, what goes out, and who may see it:
 *
 * <ul>
 *   <li>{@code CuratorElection}: campaigns with etcd. In: the lock's state in etcd, the node's
 *       address. Out: {@code CuratorStatus}, which other organs and {@code debug} read, and the
 *       {@code LeaderTerm}, which only this package's API classes use.
 *   <li>{@code RevocationWatch}: In: the revocation list in etcd. Out: the same list, to the RPC
 *       host, which refuses revoked certificates on all listeners of this node.
 *   <li>{@code TrustedKeysWatch}: In: the record of the trusted keys in etcd. Out: the same keys,
 *       as the service {@code TrustSource}, by which this node verifies plugins. The service
 *       appears with the first keys that were read.
 *   <li>{@code NodeWatchBroadcaster}, while leading. In: one etcd watch on the node records. Out:
 *       the streams of {@code Curator.Watch}, for nodes; records without their keys.
 *   <li>{@code PluginSetWatch}, while leading. In: one etcd watch on the wanted plugins, the nodes'
 *       reports about theirs, and the nodes. Out: the streams of {@code PluginSet.WatchPluginSet},
 *       for nodes: what is wanted, and which nodes have the files. It deletes the reports of nodes
 *       that are no members any more.
 *   <li>{@code RecordStore}, while leading. In: reads and updates of API calls. Out: one etcd
 *       transaction at a time for reads and one for updates. Operators see records through {@code
 *       ManagementApi}, without join keys and unlock keys.
 *   <li>{@code health}: In: {@code CuratorStatus}. Out: this organ's entry in the health of the
 *       node.
 * </ul>
 *
 * <p>Each read and update of a leader is part of an etcd transaction that holds only while the
 * leader's lock exists (the fence). A leader that was replaced without noticing cannot write, and
 * its calls end with UNAVAILABLE. Concurrent calls share transactions ({@code RequestBatcher}):
 * while one is in progress, new calls wait, and the next transaction serves all of them. So a read
 * is answered from what was read after it was asked for. Updates are made one after the other, each
 * on the result of the one before, even if both are written in one transaction; watches may see the
 * last of them only. Requests and responses are transferred outside of batches, so a slow caller
 * delays no other.
 *
 * <p>The API is registered with the RPC host once, when serving begins, and stays registered; only
 * what {@code LeaderGate} returns changes with leadership. A call that arrives between two
 * leaderships waits up to 12 s for the next one instead of failing.
 *
 * <p>Not promised: heartbeats across leaders. Only the present leader knows them, by design: if
 * each were written to etcd, the number of nodes would be the load of the store.
 *
 * <p>Not promised either: that a watch begins with an update that was acknowledged a moment before.
 * Watches begin with what the leader's own watch of etcd has received; the update follows.
 *
 * <p>Why reads have no cache: it would have to be fenced as well, and since concurrent calls share
 * reads, etcd is not the bottleneck. Updates do start from a cache; the transaction compares the
 * revisions, so a stale entry costs a second attempt and never a wrong answer.
 *
 * <ul>
 *   <li>Needs: BootReport, Consensus, HandOvers, HealthRegistry, Network, RpcHost, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: BindableService, Curator, TrustSource
 *   <li>Configuration: dev.polis.curator
 *   <li>Files: none
 *   <li>Ports: 7835, curator
 * </ul>
 */
package dev.polis.curator;
