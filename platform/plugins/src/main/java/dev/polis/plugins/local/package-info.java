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
 * <p>Not promised: that the inventory is current; a change triggers a read of it, and a swap may
 * begin meanwhile. The engine decides by the store, and not by the inventory.
 *
 * <p>Why not the RPC service {@code Plugins}? It serves operators, and answers with texts for
 * people.
 */
@Export
@Version("1.0.0")
package dev.polis.plugins.local;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
