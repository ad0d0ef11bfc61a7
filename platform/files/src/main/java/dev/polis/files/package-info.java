/**
 * Reads files, and replaces them so that a crash or a power loss leaves the former content or the
 * new one.
 *
 * <pre>
 *   write(content)                                     read()
 *     .name.1f…c0.tmp  ◀─ write, fsync                   ├─ Present      it is whole
 *     name             ◀─ rename                         ├─ None         it was never written
 *     directory        ◀─ fsync                          ├─ Corrupted    it is not what we wrote
 *                                                        └─ Unreadable   it may be there
 *   any step failed ──▶ FileException: FULL, READ_ONLY, DENIED, IO …, where, and what to do;
 *                       after the rename: UnforcedException, the new content is there
 * </pre>
 *
 * <p><b>Reading has four outcomes.</b> {@link dev.polis.files.Stored} is absent, present, corrupted
 * or unreadable, and a caller has to treat each. If a missing file and a bad sector had the same
 * result, a node with one bad sector in its sealed configuration would take itself for new, and
 * would format its disk.
 *
 * <p><b>One place for each thing.</b> {@link dev.polis.files.AtomicFile} is the one implementation
 * of a replacement, {@link dev.polis.files.DiskTrouble} the one that recognises a full or read-only
 * disk, {@link dev.polis.files.FileTree} the one that deletes or erases a tree. {@link
 * dev.polis.files.layout} declares which files there are.
 *
 * <p>Not promised: a file that is never seen half written if the disk lies about fsync; locks
 * against other programs.
 *
 * <p>Why not a database: a node has a few dozen files, programs beside it (etcd) read some of them,
 * and a person with a broken node must be able to look at them.
 */
@Export
@Version("1.6.0")
package dev.polis.files;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
