/**
 * Gives a node at a loopback address another address for Kubernetes.
 *
 * <pre>
 *   controller ──claim──▶ HostAddress ──▶ ip address add HOST/32 dev lo
 *   worker ─────claim──▶      │  nft: drop what comes from other devices than lo and polis-*
 *                             └─ one file for each role that claims it; the last one that lets go
 *                                takes the address away
 * </pre>
 *
 * <p>Roles start and stop, also in different processes one after the other, so files and not memory
 * record the claims of the address.
 *
 * <p>Not promised: the address on a node that is not root. Then {@code claim} reports it, and the
 * API server serves at the node's own address, which only this machine's first network namespace
 * reaches.
 *
 * <p>Why not a network device of its own: an address of {@code lo} needs no module of the kernel,
 * and is gone with one command.
 */
package dev.polis.kubernetes.address;
