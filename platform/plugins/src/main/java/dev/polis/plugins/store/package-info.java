/**
 * Stores the bundles of a node: files named by their digest, sets of them called generations, and
 * one pointer.
 *
 * <pre>
 *   root/
 *   ├── current                 "7 &lt;digest of generations/7&gt;"      the pointer
 *   ├── generations/6, 7        "name version digest" per plugin
 *   │                           and "set PID key =value" per key that was configured on the running node
 *   ├── files/&lt;digest&gt;.jar      never changed once it bears its name
 *   ├── files/&lt;digest&gt;.jar.plugin   its plugin manifest
 *   ├── checked/&lt;digest&gt;        length and CRC-32C the file had when its digest was last compared
 *   ├── libraries/&lt;digest&gt;      the same of the jars on the class path, which the launcher compares
 *   ├── staged/&lt;digest&gt;         what was sent to the node so far of a file that is to be swapped in
 *   ├── swap                    the swap that is under way, and those that could not be reverted; a start that
 *   │                           finds one knows that it was cut off
 *   ├── history                 how swaps ended
 *   ├── distribution            the plugins that came with the node's distribution, to go back to
 *   ├── wanted                  what the cluster wants, as this node last heard of it
 *   ├── origins                 how the plugins came to run that a swap brought
 *   ├── trusted-keys            the keys that the cluster trusts, as this node last heard of them
 *   ├── failed                  generations that the node was not well with
 *   └── starts                  how often the process was started with a generation and did not come up
 *
 *   install:  file ──fsync──rename──▶ generation ──fsync──rename──▶ pointer ──fsync──rename
 * </pre>
 *
 * <p>Everything is written under a temporary name, forced to disk, renamed, and the folder forced
 * too; a pointer is only switched to a generation whose files are all in place. So after the death
 * of the process or the machine at any moment, the next start finds the old or the new generation,
 * complete. Every read is verified: the pointer bears the digest of the generation, the generation
 * those of the files. The store does not compute the digest again for a file whose CRC-32C is
 * unchanged since the comparison of its digest: the CRC finds damage, too, and the digests took
 * half of the time of a node's start.
 *
 * <p>A damaged store is refused, never repaired by guessing: the refusal names the file and what to
 * do. {@link dev.polis.plugins.store.PluginStore#collect} deletes unneeded files; it keeps the
 * generation before the current one for a rollback, the distribution's files, and the cluster's
 * wanted plugins.
 *
 * <p>Not promised: a second process may not write the same store at the same time (the node's lock
 * on its state directory sees to that), and there is no protection against a person who rewrites
 * file and note, or pointer, generation and file alike: a digest is no signature.
 *
 * <p>Why not the framework's own bundle cache? It is written as the framework runs, without being
 * forced to disk; after a power loss entries may be missing, and it can not tell. Why not a
 * database? A folder of files can be read with the eyes, copied, and repaired by hand.
 */
@Export
@Version("2.0.0")
package dev.polis.plugins.store;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
