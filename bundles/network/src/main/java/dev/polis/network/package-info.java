/**
 * Finds the node's address and publishes it, configures the network if the node owns it, writes the
 * names of the nodes, and keeps the clock if the machine is the node's own.
 *
 * <pre>
 *   NetworkComponent (wires) ─▶ NetworkService ── each second ──▶ HostAddresses (interfaces, bind probe)
 *                                  │      │                            └─▶ Value&lt;NetworkStatus&gt;
 *                                  │      └─ NodeNames ─▶ ephemeral/hosts, ephemeral/machine-id
 *                                  │
 *     configure(Net) ─▶ StaticNetwork (checks) ─▶ InterfaceSetup (ip, resolver file)
 *                            │                          ▲
 *                            │   DhcpLinks ─▶ DhcpLink ─┴─ DhcpClient (decides) ─ DhcpTransport (packets)
 *                            │                   └─▶ esp/dhcp_leases.pb, asked for again at each start
 *                            └─▶ esp/network_configuration.pb, applied again at each start
 *
 *     keepClock(servers) ─▶ MachineClock ── chronyd ──▶ ephemeral/clock/tracking.log ─▶ Tracking ─▶ Value&lt;ClockStatus&gt;
 * </pre>
 *
 * <p>A node owns its network if its operator says so ({@code manage} of dev.polis.network): it is
 * the only program on its machine that configures interfaces, or has a network namespace of its
 * own. Then the organ sets static addresses, routes, MTU and name servers exactly as configured,
 * and removes all other addresses and static routes from the configured interfaces. Otherwise it
 * does not change the machine's network, and refuses a configuration with the names of its fields.
 *
 * <p><b>Cut networks.</b> On a network that it owns the node lets TCP give a silent peer up after
 * 13 s, so that etcd connects its members anew soon after a cut. The kernel's own limit is a
 * quarter of an hour, and etcd sets none.
 *
 * <p>A share of lost packets makes calls and leases late, and no call fails, so each cause is
 * sought elsewhere first. {@link dev.polis.network.PacketCheck} reads the kernel's counters of what
 * TCP sent again. It names machines, and no cause: cable, card, queue and firewall look alike from
 * here.
 *
 * <p><b>DHCP.</b> A node that owns its network asks DHCP on each interface whose configuration has
 * {@code ipv4_autoconfig}; without a configuration on the only Ethernet card, unless a card has a
 * permanent address. With several cards it names them in its health and waits until one is left or
 * a configuration comes. {@link dev.polis.network.DhcpClient} is a state machine without a clock, a
 * thread or a socket. A lease becomes an address with the lifetime of the lease, so that the kernel
 * removes it in time even if the node has ended, and routes that {@code ip} shows as {@code proto
 * dhcp}. Static addresses and routes stay.
 *
 * <p>A start asks for the stored address first (INIT-REBOOT). If no server answers within 10 s, the
 * node uses that address until the lease ends: after a loss of power, nodes are often up before
 * their server. A next instance of the organ continues with the leases and asks nothing. A refusal
 * and the end of a lease take the address away; the node then has the status Waiting.
 *
 * <p>A neighbour can send anything to port 68. While a client has a lease and does not renew it, no
 * socket is open. Otherwise the kernel drops all but the packets for that port, the client reads 64
 * of them in 50 ms at most, and takes only answers to its present question. The address, its
 * network, the routes, the name servers and the MTU of an answer are checked, so a false server can
 * misdirect the traffic of its link, as one can by ARP, and name time servers, and no more.
 *
 * <p><b>The clock.</b> On a machine whose node is told so ({@code clock} of dev.polis.network; the
 * image does), {@link dev.polis.network.MachineClock} runs chronyd with the servers of the
 * configuration, else of the node parameters, else of DHCP. Everywhere else the clock belongs to
 * the machine's owner, and the organ starts nothing; {@code manage} does not decide this, since a
 * node in a network namespace of its own shares its clock. chronyd has an account that may set the
 * clock and nothing else, a filter of system calls, no port and no socket; its arguments are its
 * whole configuration. The organ reads what it follows from the file that it writes. It starts once
 * the node has an address, because it would ask an unreachable server again only after half a
 * minute. The enrolment waits for its first answer 20 s at most, and then continues.
 *
 * <p>chronyd sets the clock by any time at its start alone; later it changes its speed by two
 * thousandths at most. Servers that DHCP offers set it only until the machine has followed one:
 * otherwise a false DHCP server would set it again with each lease. It keeps its knowledge of the
 * clock's error in ephemeral/clock: the data volume opens only after certificates have been judged.
 *
 * <p>Why a part of this organ and not one of its own: it needs the node's address and name servers
 * at the moment at which they are there, has no other contract than a status, and no caller but the
 * enrolment. Why chronyd and not an own client: to discipline a clock is its whole craft, and a
 * wrong filter would step the clock of a cluster. Why not by orders to it over a socket: a socket
 * needs a named account, and its answers are those of the file.
 *
 * <p>The organ polls the address each second. The JDK has no netlink socket to be notified over,
 * and connections survive the loss of an address for less than a second.
 *
 * <p>Not promised: servers of DHCP (option 42); NTS, so answers of servers carry no proof; router
 * advertisements, DHCPv6, bonds and VLANs; the organ refuses a configuration with one. It does not
 * test by ARP whether another machine has an address that a server gives, and asks no new server
 * when a cable moves to another network before the time of renewal. It does not change {@code
 * /etc/hosts} unless that is a link into {@code names.folder}, as on a machine of its own, nor the
 * host name unless the node is the first process of the machine.
 *
 * <p>Why an own client and not dhclient, udhcpc or a library: a child process has no state to show
 * in health or to hand over, and its scripts change the interfaces. The only Java library on Maven
 * Central, dhcp4java, encodes messages, has had no release since 2018, and has no client.
 *
 * <p>Why {@code ip} and not netlink: an operator can repeat a failed command by hand, and its error
 * message names the object.
 *
 * <ul>
 *   <li>Needs: HandOvers, HealthRegistry, LogTree, ProcessManager, Storage, Supervisor
 *   <li>Uses if there: none
 *   <li>Provides: Network
 *   <li>Configuration: dev.polis.network
 *   <li>Files: ephemeral/clock, ephemeral/hosts, ephemeral/machine-id, esp/dhcp_leases.pb,
 *       esp/network_configuration.pb, esp/time_servers
 *   <li>Ports: none
 * </ul>
 */
package dev.polis.network;
