/**
 * The network organ on a machine that has its network already: it waits for the node's address and
 * publishes it, and it keeps the names of nodes.
 *
 * <pre>
 *   NetworkComponent ── HostAddresses (interfaces, bind probe) ─▶ Value&lt;NetworkStatus&gt;
 *        │
 *        └─ NodeNames ── ephemeral/hosts, ephemeral/machine-id
 * </pre>
 *
 * <p>The address is looked at again every second instead of listening for the kernel's messages:
 * the JDK has no netlink socket, and an address that was lost for less than a second is found again
 * by every connection anyway.
 *
 * <p>Not promised: DHCP, bonds or routes. They belong to a machine whose network is ours; here the
 * machine's own network is left as it is, and so are its host name and {@code /etc}.
 *
 * <ul>
 *   <li>Needs: BootReport, HealthRegistry, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Network
 *   <li>Configuration: dev.polis.network
 *   <li>Files: ephemeral/hosts, ephemeral/machine-id
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.network;
