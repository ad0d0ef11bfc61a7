/**
 * Does what the kernel expects of process 1, and takes signals.
 *
 * <pre>
 *   kernel ── SIGCHLD ─────────▶ Signals ──▶ Pid1Duties ──▶ ChildReaper ──▶ ChildTable
 *          ── SIGTERM, SIGINT ─▶ Signals ──▶ RunCommand
 *   end of the node ────────────────────────▶ Pid1Duties ──▶ power off or restart of the machine
 * </pre>
 *
 * <p>A process that started over runs a reaper too: the children of its former program are its own,
 * and the JDK waits for none of them.
 *
 * <p>Not promised: an immediate end of a zombie. The JDK waits for the children that it started,
 * and would lose their exit codes, so the reaper leaves each child alone for a second.
 *
 * <p>Why not a small init program in front of the JVM? It would be a second process to start, to
 * watch and to replace, for a hundred lines.
 */
package dev.polis.node.init;
