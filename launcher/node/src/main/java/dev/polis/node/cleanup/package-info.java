/**
 * Removes what a node left on its machine when it was killed, for {@code stop}.
 *
 * <pre>
 *   SandboxRemains   containers ─▶ their cgroups ─▶ network device ─▶ addresses, rules of nft
 *   StateMounts      mounts below the state directory, the last one first ─▶ loop devices
 * </pre>
 *
 * <p>The sandbox goes first: its record lies on the volume, and its mounts hold the volume. A mount
 * that is no volume of the node, such as a disk for the state directory, stays.
 *
 * <p>Not promised: a clean machine. The command lists the remains that stay and fails; the next one
 * tries them again.
 *
 * <p>Why not by the organs that made these things? They need a framework and an open volume, and
 * {@code stop} works on the remains of a process that has neither.
 */
package dev.polis.node.cleanup;
