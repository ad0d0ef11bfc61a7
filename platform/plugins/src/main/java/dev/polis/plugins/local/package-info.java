/**
 * Lets an organ see and replace the plugins of the node that it runs on.
 *
 * <pre>
 *   convergence organ ──▶ LocalPlugins ──▶ inventory: generation, distribution, origins, files
 *                              │
 *                              ├──▶ staged files, as Plugins.Stage fills them
 *                              ├──▶ what the cluster wants, kept beside the store
 *                              └──▶ SwapEngine: one swap at a time, of all callers
 * </pre>
 *
 * <p>The service stands on the platform, so it stays while an organ that uses it is replaced by its
 * own order. An order continues without the caller that gave it.
 *
 * <p>Not promised: that the inventory is that of this instant; it is read after each change, and a
 * swap may begin meanwhile. The engine decides by the store, and not by the inventory.
 *
 * <p>Why not the RPC service {@code Plugins}? It is for operators, and answers with words for them.
 */
@Export
@Version("1.0.0")
package dev.polis.plugins.local;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
