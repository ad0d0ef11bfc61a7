/**
 * Keeps the cluster's records in etcd and serves the API for them over gRPC.
 *
 * <pre>
 *   CuratorConfig ─▶ CuratorSettings ─▶ CuratorService ◀─ CuratorComponent ◀─ cluster organ
 *                                          │ supervises
 *                 ┌────────────────────────┼──────────────────────┐
 *         CuratorElection   RevocationWatch · TrustRecordWatch   health
 *                 │ won
 *             LeaderTerm   HeartbeatMonitor
 *                 │
 *                 │          streams ◀─ NodeWatchBroadcaster · PluginSetWatch
 *                 │                               ▲
 *                 │            reads ◀─ RecordReader ◀─ RecordMemory ◀─ RecordWatch
 *                 │                           ┊ only if not   ▲            │
 *                 │                           ┊ certain to    │ acknowledged
 *             LeaderGate ◀── the API's        ┊ lead          │            │
 *                            classes ─▶ RecordUpdater ────────┘            │
 *                                             │ one fenced transaction     │
 *                                             ▼ for all waiting calls      │
 *                                        etcd, namespace curator/ ─────────┘
 * </pre>
 *
 * <p>Each task, with its input, its output, and the readers of the output:
 *
 * <ul>
 *   <li>{@code CuratorElection}: campaigns with etcd. In: the lock's state in etcd, the node's
 *       address, and whether a silent leader's port accepts a connection ({@code LeaderProbe}).
 *       Out: {@code CuratorStatus}, which other organs and {@code debug} read, and the {@code
 *       LeaderTerm}, which only this package's API classes use.
 *   <li>{@code RevocationWatch}: In: the revocation list in etcd. Out: the same list, to the RPC
 *       host, which refuses revoked certificates on all listeners of this node.
 *   <li>{@code TrustRecordWatch}, once for the record of the trusted keys and once for that of the
 *       operators in etcd. Out: the keys as the service {@code TrustSource}, by which this node
 *       verifies plugins, and which appears when the organ has read the first keys; the operators
 *       to the RPC host, which decides about their calls on all listeners of this node.
 *   <li>{@code RecordMemory}, while leading. In: the leader's own writes, one etcd watch on all
 *       records, and listings. Out: all records, to all readers and watches.
 *   <li>{@code NodeWatchBroadcaster}, while leading. In: changes in memory. Out: the streams of
 *       {@code Curator.Watch}, for nodes; records without their keys.
 *   <li>{@code PluginSetWatch}, while leading. In: changes in memory. Out: the streams of {@code
 *       PluginSet.WatchPluginSet}, for nodes: the wanted plugins, and the nodes that have the
 *       files. It deletes the reports of former members.
 *   <li>{@code RecordStore}, while leading. In: reads and updates of API calls. Out: answers from
 *       memory, and one etcd transaction at a time for updates. Operators see records through
 *       {@code ManagementApi}, without join keys and unlock keys.
 *   <li>{@code TrustFeeds}, while leading. In: the revocation list, the trusted keys and the
 *       operators of this node. Out: the streams of {@code Membership.FollowTrust}, for members
 *       that run no etcd.
 *   <li>{@code MemberReconciler}, while leading. In: the records in memory, etcd's list of members.
 *       Out: nothing but the removal of members whose nodes have no role.
 *   <li>{@code RemoteCurator}, in place of all the above on a node that keeps no records. In: the
 *       leader's answers. Out: {@code CuratorStatus}, the revocation list, the trusted keys. While
 *       the leader is silent, its {@code RevocationQuestion} asks whether this node is revoked.
 *   <li>{@code health}: In: {@code CuratorStatus}. Out: this organ's entry in the health of the
 *       node.
 * </ul>
 *
 * <p>The packages below hold the parts: {@code record} the records in memory and in etcd, {@code
 * leader} the leadership and its streams, {@code filter} the filters of lists, {@code attest} the
 * evidence of machines, {@code api} the calls. Each uses the ones before it; this package wires
 * them.
 *
 * <ul>
 *   <li>Needs: Consensus, HandOvers, HealthRegistry, Network, RpcHost, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: BindableService, Curator, MetricsExporter, TrustSource
 *   <li>Configuration: dev.polis.curator
 *   <li>Files: none
 *   <li>Ports: 7835, curator
 * </ul>
 */
package dev.polis.curator;
