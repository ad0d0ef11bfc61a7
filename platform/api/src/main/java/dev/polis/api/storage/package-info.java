/**
 * Where a node keeps what it must not forget: the declared tree of files, the data volume and its
 * keys.
 *
 * <pre>
 *   &lt;root&gt;/esp/        small, not encrypted        {@link dev.polis.api.storage.Root.Esp}
 *   &lt;root&gt;/data/       the node's data volume      {@link dev.polis.api.storage.Root.Data}
 *   &lt;root&gt;/ephemeral/  files of the running node   {@link dev.polis.api.storage.Root.Ephemeral}
 *
 *   node's half (NUK)    in the sealed configuration on esp/   ─┐
 *                                                               xor ── key of data/
 *   cluster's half (CUK) in the curator; while enrolling in     ─┘
 *                        the journal on esp/; sealed to the
 *                        owner in the recovery share on esp/
 * </pre>
 *
 * <p><b>Paths are types.</b> A file is reached by the methods of {@link
 * dev.polis.api.storage.Root}, never by joining strings: its name, its access mode and the atomic
 * way to replace it are said once, where it is declared. Two files of one name in one directory are
 * refused when the tree is built, so a mistake ends the first test instead of a node.
 *
 * <p><b>Reading has four outcomes.</b> {@link dev.polis.api.storage.Stored} is absent, present,
 * corrupted or unreadable, and a caller has to look at each. An exception or a null for "not there"
 * is how a node whose sealed configuration had one bad sector comes to believe that it is new, and
 * formats its disk.
 *
 * <p><b>Mounting is repeatable.</b> {@link dev.polis.api.storage.Storage#mountNew} with the same
 * keys may be called again after the process was killed at any point, and goes on. It is the keys
 * that prove whose volume it is: they are random, so a volume they open is ours, and one they do
 * not open is left as it is. The caller therefore makes the keys and writes them to the enrolment
 * journal <em>before</em> it asks for a volume; a service that made the keys itself and returned
 * them could be killed in between and leave a volume nobody can open.
 *
 * <p>Not promised: protection from someone who can replace {@code esp/} while the node is off,
 * unless the configuration is sealed to hardware; a file that is never seen half written if the
 * disk lies about fsync.
 */
@Export
@Version("1.0.0")
package dev.polis.api.storage;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
