/**
 * Replaces bundles and configurations of the running node, and reverts this if the node does not
 * work with the new ones.
 *
 * <pre>
 *   order ─▶ fetch ─▶ verify ─▶ resolve ─▶ blast radius ─▶ install ─▶ start ─▶ gate ─▶ switch ─▶ gate ─▶ commit ─▶ retire
 *              │         │         │                          │        beside   │        │ the old    │        │
 *              └─────────┴─────────┴── refused                └── reverted ◀────┴────────┴ ones stop ─┘        └ uninstall
 *                                      (nothing has changed)      (old ones run)                                 and refresh
 * </pre>
 *
 * <p>A swap has a target: a generation of the plugin store, which has the wanted bundles and
 * configurations. One swap replaces all differences from the present one: so a new version, a
 * changed configuration and a rollback are the same procedure.
 *
 * <p>Successors are installed beside their predecessors, which continue to serve. Predecessors are
 * stopped when the successors are active and healthy, and stay installed until the node as a whole
 * has been healthy for a while without them: until then a revert starts them again. The commit of
 * the generation precedes each removal of a bundle, so that a full disk reverts the swap, too.
 *
 * <p>While successors are activated and judged, the process may use some more memory and threads
 * than before, up to limits that are configured; beyond them the swap is reverted. The heap counts
 * after a collection, so the garbage of a busy node does no harm. A plugin whose leak is slower
 * than the gate passes the gate. A plugin that fills the heap between two measurements ends the
 * process, as any lack of memory does: the next start undoes the swap, and after the second such
 * end the generation counts as failed.
 *
 * <p>A second instance of the bundle, from the same file, starts with a new configuration: so the
 * swap judges, switches and reverts it like another version, and the first instance never sees a
 * value that it cannot use. Why not a component's own method for changes? Each organ would need the
 * code for each key, and half a change has no way back.
 *
 * <p>A predecessor that hangs during its stop delays no call, since its successor already gets the
 * calls. It stays installed, the node's health reports it, and the engine removes it when it ends;
 * the same holds for a successor that a revert could not remove. A revert keeps the successor of a
 * predecessor that does not run again, since an organ in another version is better than none. After
 * any exception of a stage, the swap ends, listeners are notified of the end, and the next swap may
 * begin. The engine follows the class loader of each uninstalled version, and names one that stays
 * in memory.
 *
 * <p>A single bundle is stopped and started through the engine too, so that neither happens in the
 * middle of a swap.
 *
 * <p>Not promised: that code which does not end when it is interrupted can be removed from memory.
 * It is stopped and uninstalled as a bundle, and the outcome names the platform threads of it that
 * run on. Virtual threads are not listed by the JVM, and so are not named.
 *
 * <p>Why not {@code Bundle.update}? It stops the old version before it knows whether the new one
 * resolves, and it has no way back.
 */
@Export
@Version("2.0.0")
package dev.polis.plugins.swap;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
