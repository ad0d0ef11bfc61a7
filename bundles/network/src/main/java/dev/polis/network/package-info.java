/**
 * Finds the node's address and publishes it, configures the network if the node owns it, and writes
 * the node's name.
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
 * own. Then the organ sets static addresses, routes, MTU and name servers exactly as configured,
 * and removes all other addresses and static routes from the configured interfaces. Otherwise it
 * does not change the machine's network, and refuses a configuration with the names of its fields.
 *
 * <p>The organ polls the address each second. The JDK has no netlink socket to be notified over,
 * and connections survive the loss of an address for less than a second.
 *
 * <p>Not promised: DHCP, router advertisements, bonds and VLANs; the organ refuses a configuration
 * with one. It does not change {@code /etc/hosts}, nor the host name unless the node is the first
 * process of the machine.
 *
 * <p>Why {@code ip} and not netlink: an operator can repeat a failed command by hand, and its error
 * message names the object.
 *
 * <ul>
 *   <li>Needs: HandOvers, HealthRegistry, LogTree, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Network
 *   <li>Configuration: dev.polis.network
 *   <li>Files: ephemeral/hosts, ephemeral/machine-id, esp/network_configuration.pb
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.network;
