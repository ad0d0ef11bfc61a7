/**
 * Declares which files and directories a state directory has.
 *
 * <pre>
 *   &lt;state&gt;/esp/        small, not encrypted        {@link dev.polis.files.layout.Root.Esp}
 *   &lt;state&gt;/data/       the node's data volume      {@link dev.polis.files.layout.Root.Data}
 *   &lt;state&gt;/ephemeral/  files of the running node   {@link dev.polis.files.layout.Root.Ephemeral}
 *   &lt;state&gt;/owner/      keys of the person who runs it; the node does not read them
 *   &lt;state&gt;/plugins/    bundles by digest
 * </pre>
 *
 * <p><b>Paths are types.</b> A file is reached by the methods of {@link
 * dev.polis.files.layout.Root}, never by joining strings: one declaration has its name, its access
 * mode and the atomic way to replace it. The construction of the tree refuses two files of one name
 * in one directory, so a mistake ends the first test instead of a node.
 *
 * <p>The launcher, the organs and the operator's command line use this one declaration; none of
 * them needs another's code for it.
 *
 * <p>Not promised: that a declared directory exists, or that {@code data/} is mounted. The storage
 * organ says that.
 *
 * <p>Why not in the contract of storage: the launcher, which has to lock, clean and unmount a state
 * directory before and after there is any organ, would depend on the organs' contracts.
 */
@Export
@Version("1.7.0")
package dev.polis.files.layout;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
