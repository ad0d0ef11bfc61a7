/**
 * Finds the leader of the cluster's curator and keeps gRPC channels pointed at it.
 *
 * <p>One curator of a cluster leads, and only that one answers calls about the cluster's records.
 * Another node leads when the leader stops. A {@link dev.polis.rpc.resolver.LeaderResolver} gets
 * the addresses of some curators, opens a stream to each that reports the leader, and learns
 * further curators from the leader's list of nodes.
 *
 * <pre>
 *                     CuratorLocal.GetCurrentLeader
 *   seeds ─▶ LeaderSearch ───────────────────────────▶ each known curator
 *                ▲    │ leader's address
 *                │    ├─────────▶ LeaderNames ─▶ channels of LeaderResolver.channel()
 *      curators' │    │
 *      addresses │    ▼
 *              CuratorList ──── Curator.Watch(nodes) ─▶ the leader
 * </pre>
 *
 * <p>Where curators name different leaders, the one that most of them name is the leader: a curator
 * that is cut off from the others may name the former one for as long as a lease lasts.
 *
 * <p>Each arrow is a call that is repeated after a pause ({@code RetryLoop}) until the resolver is
 * closed. A channel that fails to connect ends all pauses, so that a caller does not wait for them.
 * No pause is longer than seven seconds, so that a node whose network was cut for an hour has its
 * leader seconds after the cut.
 *
 * <p>Organs of a node use a {@link dev.polis.rpc.resolver.LeaderConnection}. Their connections
 * share one resolver and one channel, so that a replaced organ makes no handshake, whose two sides
 * a leading node would compute on the threads that serve its callers.
 *
 * <p><b>Not promised.</b> The leader that is found may have stopped leading when a call arrives; it
 * then answers UNAVAILABLE, and the caller decides whether to call again.
 *
 * <p><b>Trust.</b> Each connection requires the certificate of one node: of the curator that the
 * caller names, of the leader that such a curator names, or of a curator in the list of that
 * leader. Another node of the cluster that takes the address of a curator gets no call. A node that
 * had the role ConsensusMember when the resolver began can mislead it until the end of the
 * resolver, also after it has lost the role.
 *
 * <p><b>Why not DNS, or a list of addresses with health checks.</b> There is no name server before
 * there is a cluster. A list would be tried one after the other after each change, and a follower
 * looks as healthy as the leader.
 */
@Export
@Version("2.1.0")
package dev.polis.rpc.resolver;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
