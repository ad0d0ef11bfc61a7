/**
 * Keeps the lasting data of a node: the declared tree of files, the data volume and its keys.
 *
 * <pre>
 *   &lt;root&gt;/esp/        small, not encrypted        {@link dev.polis.files.layout.Root.Esp}
 *   &lt;root&gt;/data/       the node's data volume      {@link dev.polis.files.layout.Root.Data}
 *   &lt;root&gt;/ephemeral/  files of the running node   {@link dev.polis.files.layout.Root.Ephemeral}
 *
 *   node's half (NUK)    in the sealed configuration on esp/   ─┐
 *                                                               xor ── key of data/
 *   cluster's half (CUK) in the curator; while enrolling in     ─┘
 *                        the journal on esp/; sealed to the
 *                        owner in the recovery share on esp/
 * </pre>
 *
 * <p>{@link dev.polis.files.layout} declares the files, and {@link dev.polis.files} reads and
 * replaces them.
 *
 * <p><b>Mounting is repeatable.</b> {@link dev.polis.api.storage.Storage#mountNew} with the same
 * keys may be called again after the process was killed at any point, and continues. The random
 * keys prove the owner of a volume: a volume that they open belongs to this node, and any other
 * volume stays unchanged. The caller therefore makes the keys and writes them to the enrolment
 * journal <em>before</em> it asks for a volume; a service that made the keys itself and returned
 * them could be killed in between and leave a volume whose keys are lost.
 *
 * <p>Not promised: protection from an attacker who can replace {@code esp/} while the node is off,
 * unless the configuration is sealed to hardware.
 */
@Export
@Version("2.2.0")
package dev.polis.api.storage;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
