/**
 * Decides when this node serves the cluster's records, and sends their changes to the streams of
 * clients.
 *
 * <pre>
 *   CuratorElection ── won ──▶ LeaderTerm ── records, heartbeats, streams of this leadership
 *          │                       │
 *          │ status                ├─▶ NodeWatchBroadcaster ──▶ streams of Curator.Watch
 *          ▼                       └─▶ PluginSetWatch       ──▶ streams of WatchPluginSet
 *     CuratorStatus
 *   a call ──▶ LeaderGate ──▶ the term, or the leader's address, or a wait of at most 12 s
 * </pre>
 *
 * <p>The API is registered with the RPC host once, when serving begins, and stays registered; only
 * what {@code LeaderGate} returns changes with leadership. A call that arrives between two
 * leaderships waits up to 12 s for the next one instead of failing. Once another node leads, the
 * call is refused at once, with that node's id and address.
 *
 * <p>Not promised: heartbeats across leaders. Only the present leader knows them: if each went to
 * etcd, the load of the store would grow with the number of nodes.
 *
 * <p>Why not register the API anew with each leadership: a call that arrives between two of them
 * would fail, although the next leader can answer it.
 */
package dev.polis.curator.leader;
