/**
 * Tests real nodes: the distribution as it ships, real processes, real etcd, real volumes.
 *
 * <pre>
 *   a test ──┬─▶ TestNode ──▶ java … dev.polis.node.Main   a state directory and an address of its own
 *            ├─▶ TestNode.ctlProgram ──▶ java … dev.polis.ctl.Ctl   what an operator types
 *            ├─▶ TestNode.ctl ──▶ the same code in this process     … where his program is not what is tested
 *            └─▶ OwnerApi ──▶ gRPC over TLS                         what is too quick, or too often, for that
 * </pre>
 *
 * <p>Nothing of a node runs in the tests' own process, so whatever a test kills is killed as a
 * power cut or an operator would. Each node has an address of its own in 127.0.0.0/8, and the ports
 * every node has.
 *
 * <p>The tests do not tell how quick a node is, and they wait for what they need, never for a time.
 * They need root for encrypted volumes and for disks that are full or read-only, and say so where
 * it is missing. Long forms run with {@code polis test --long}.
 */
package dev.polis.cluster.it;
