/**
 * Tests real nodes: the distribution as it ships, real processes, real etcd, real volumes.
 *
 * <pre>
 *   a test ──┬─▶ TestNode ──▶ java … dev.polis.node.Main   a state directory and an address of its own
 *            ├─▶ TestNode.ctlProgram ──▶ java … dev.polis.ctl.Ctl   what an operator types
 *            ├─▶ TestNode.ctl ──▶ the same code in this process     … where the program itself is not tested
 *            └─▶ OwnerApi ──▶ gRPC over TLS                         calls that are too quick or frequent for it
 * </pre>
 *
 * <p>Nothing of a node runs in the tests' own process, so a kill by a test has the effect of a
 * power cut or of an operator's kill. Each node has an address of its own in 127.0.0.0/8, and the
 * ports every node has.
 *
 * <p>The tests do not measure a node's speed, and they wait for conditions, never for a time. They
 * need root for encrypted volumes and for disks that are full or read-only, and report if it is
 * missing. Long forms run with {@code polis test --long}.
 */
package dev.polis.cluster.it;
