/**
 * Finds the node's address and publishes it, configures the network where the node owns it, and
 * writes the node's name.
 *
 * <pre>
 *   NetworkComponent (wires) ─▶ NetworkService ── each second ──▶ HostAddresses (interfaces, bind probe)
 *                                  │      │                            └─▶ Value&lt;NetworkStatus&gt;
 *                                  │      └─ NodeNames ─▶ ephemeral/hosts, ephemeral/machine-id
 *                                  │
 *     configure(Net) ─▶ StaticNetwork (checks) ─▶ InterfaceSetup (ip, resolver file)
 *                            └─▶ esp/network_configuration.pb, applied again at each start
 * </pre>
 *
 * <p>A node owns its network if its operator says so ({@code manage} of dev.polis.network): it is
 * the only program on its machine that configures interfaces, or has a network namespace of its
 * own. Then static addresses, routes, MTU and name servers are made exactly as configured;
 * addresses and static routes that are not configured are removed from the configured interfaces.
 * Otherwise the machine's network is left alone, and a configuration is refused by its fields, not
 * ignored.
 *
 * <p>The address is polled each second. The JDK has no netlink socket to be notified over, and
 * connections survive the loss of an address for less than a second.
 *
 * <p>Not promised: DHCP, router advertisements, bonds and VLANs; a configuration that has one is
 * refused. {@code /etc/hosts} is left alone, and so is the host name, unless the node is the first
 * process of the machine.
 *
 * <p>Why {@code ip} and not netlink: each command can be repeated by hand when it fails, and its
 * error message names the object.
 *
 * <ul>
 *   <li>Needs: BootReport, HandOvers, HealthRegistry, LogTree, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Network
 *   <li>Configuration: dev.polis.network
 *   <li>Files: ephemeral/hosts, ephemeral/machine-id, esp/network_configuration.pb
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.network;
