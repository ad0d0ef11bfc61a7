/**
 * The curator: the cluster's records, kept in etcd and served to nodes and operators.
 *
 * <pre>
 *   cluster ──bootstrap(first records)──▶ Curator ──fenced transactions──▶ etcd
 *           ──serve(node credentials)───▶    │
 *                                            └── status: Idle · Campaigning · Leading · Following
 * </pre>
 *
 * <p>A client with a question to the cluster asks the curator's gRPC services (Management, AAA,
 * Curator, CuratorLocal); this contract is only for the organ beside it, which creates the first
 * records of a cluster before any service can be called and says when serving may begin.
 *
 * <p>Not promised: that this node leads. A caller that needs the leader uses the RPC services
 * through a leader-following channel. The records themselves are no part of this contract either: a
 * method here for each of them would be a second, unauthorized way to the same data.
 */
@Export
@Version("1.0.1")
package dev.polis.api.curator;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
