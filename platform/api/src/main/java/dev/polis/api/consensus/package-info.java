/**
 * Consensus: this node's member of the cluster's etcd.
 *
 * <pre>
 *   cluster ──startNew / startExisting(identity)──▶ Consensus ──owns──▶ etcd (child process)
 *   curator ──access("curator")──▶ EtcdAccess ──mutual TLS, user by common name──▶  │
 *   polisctl ◀──overview()── members, leader, sizes, alarms ◀───────────────────────┘
 *
 *   leader's curator ──admit(node) until it is a voter, expel(node)──▶ members of etcd
 *   roles ──join(invitation), discard()──▶ Consensus of the node that comes or goes
 *   cluster ──erase()──▶ Consensus of a node that the cluster has removed
 *
 *              start…, join              ready, has a vote          stop(), removed from etcd
 *   Stopped ────────▶ Starting ─────────────▶ Running ────────────────────▶ Stopped
 *                      │    ▲                    │
 *              refused ▼    │ next attempt       │ etcd died, address changed
 *                     Failed┘◀───────────────────┘ (by way of Starting)
 * </pre>
 *
 * <p>The organ hands out access, not connections: each consumer opens, owns and closes its own
 * client, so that none of them can exhaust or close another's, and so that replacing the organ cuts
 * off no consumer while etcd lives.
 *
 * <p>Not promised: that {@code Running} means quorum. It says that this member has joined in and
 * answered once; calls made through an access fail or wait while the cluster has no quorum.
 *
 * <p>Why not an embedded store: etcd is what Kubernetes speaks, and a child process survives the
 * replacement of every line of our code.
 */
@Export
@Version("1.4.0")
package dev.polis.api.consensus;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
