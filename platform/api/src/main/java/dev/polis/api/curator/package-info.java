/**
 * The curator: the cluster's records, kept in etcd and served to nodes and operators.
 *
 * <pre>
 *   cluster ──bootstrap(first records)──▶ Curator ──fenced transactions──▶ etcd
 *           ──serve(node credentials)───▶    │
 *           ──follow(curators)──────────▶    ├──asks──▶ the leader, on a node without etcd
 *           ──leave()───────────────────▶    │
 *                                            └── status: Idle · Campaigning · Leading · Following
 * </pre>
 *
 * <p>Clients of the cluster call the curator's gRPC services (Management, AAA, Curator,
 * CuratorLocal). This contract is for the cluster organ alone: it creates the first records of a
 * cluster before a service can be called, and decides when serving begins.
 *
 * <p>Not promised: that this node leads. A caller that needs the leader uses the RPC services
 * through a leader-following channel. This contract has no methods for the records either, since
 * they would be a second, unauthorized way to the same data.
 */
@Export
@Version("2.0.0")
package dev.polis.api.curator;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
