/**
 * Breaks things around a real node and holds it to its promises.
 *
 * <pre>
 *   CuratorChaosTest   writers, watchers ──▶ curator ──▶ etcd ✗ kill -9
 *   LinearizabilityTest  writers, readers, watchers ──▶ two curators ✗ stopped ──▶ etcd ✗ killed, paused, cut off
 *   RpcFuzzTest        every method of every listener ◀── senseless messages, from members and strangers
 *   LargeCallsTest     a listener ◀── more large messages at a time than a node has memory for
 *   OpenCallsTest      every gRPC port ◀── thousands of open calls of each method that strangers have
 *   FloodKindsTest     all ports at once ◀── connections, silence, calls and heads that never end
 *   Http2FuzzTest      every gRPC port ◀── frames, headers and prefixes that may not be, and floods
 *   TlsGarbageTest     every TLS port ◀── bytes that are no handshake, and handshakes that never end
 * </pre>
 *
 * <p>The node is the distribution as it ships, with the Java options it ships with: a message that
 * needs more memory than a node has ends it here as it would there. Randomness comes from a seed
 * that is printed and can be given again as {@code -Dpolis.seed}. {@code polis test --long} runs
 * the long forms.
 *
 * <p>What they do not prove: that a cluster of several nodes stands the same, and that a disk which
 * loses acknowledged writes is noticed; etcd is killed here, the machine is not.
 */
package dev.polis.faults.it;
