/**
 * Describes the address of the node, and the names by which nodes know each other.
 *
 * <pre>
 *   configured address ─┐
 *   interfaces ─────────┼─▶ network ──▶ Value&lt;NetworkStatus&gt;   Waiting(for what) | Up(address)
 *   bind probe ─────────┘   ▲  │
 *                           │  ├─▶ ephemeral/hosts, ephemeral/machine-id
 *          configure(Net) ──┘  └─▶ addresses, routes and name servers of the machine, where it owns them
 * </pre>
 *
 * <p>A node needs one address that others reach it at. A missing address (an interface that is not
 * up yet, an unplugged cable) is a state with a reason and no failure; a lost address leads back to
 * that state.
 *
 * <p>Names are the ids of the cluster's nodes. They are written to the node's own hosts file, and
 * on a machine of its own to {@code /etc/hosts}; elsewhere {@code /etc/hosts} is left as it is.
 *
 * <p>The node of a machine of its own also keeps the clock: {@link
 * dev.polis.api.network.ClockStatus}. On a machine with another owner that is the task of the
 * machine.
 *
 * <p>Not promised: that a peer can reach the address. That is known only when one did.
 */
@Export
@Version("1.3.0")
package dev.polis.api.network;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
