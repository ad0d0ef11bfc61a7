/**
 * Keeps one journal in memory for every name of the supervision tree: the log tree.
 *
 * <pre>
 *   Log, RawLog          (one handle per distinguished name, "root.storage.mount")
 *        |  append: format and locate outside the lock, then one short critical section
 *        v
 *   JournalTree ---- sequence number, journal ring, offer to readers ----+
 *     | root            Journal  [ newest 8192 ]                         |
 *     | root.storage    Journal  [ newest 8192 ]                         v
 *     | root.storage.x  Journal  ...                          LogReader (backlog, then stream)
 * </pre>
 *
 * <p>An entry is either <em>leveled</em> (severity, time, call site, one or more lines) or
 * <em>raw</em> (one line of foreign output, cut at 1024 bytes, its original length kept). Every
 * entry gets a sequence number that grows over the whole tree; it is the cursor with which a reader
 * resumes.
 *
 * <p>One lock orders all appends. That is deliberate: because numbering, storing and offering
 * happen in one step, a reader's stream is in sequence order and joins its backlog without gap or
 * repetition, and a cursor means "everything up to here was seen". A lock for each journal would
 * scale to more writers, but its streams would be out of order and its cursors would lose entries.
 * The costly parts (formatting, finding the call site) are done before the lock is taken, so that
 * it is held for some tens of nanoseconds.
 *
 * <p>The place of a leveled entry is found by a walk up the stack, which takes several times as
 * long as all else. The walk cannot wait until a reader needs the place, since the stack is
 * different then. {@link dev.polis.logtree.Log#here} looks once for many entries, and the build of
 * a distribution puts the places into the code, which then calls {@link
 * dev.polis.logtree.LogPlaces}.
 *
 * <p>Memory is bounded three times: entries per journal, bytes over all journals (the largest
 * journal gives first, so a talkative organ cannot push out the few lines of a quiet one), and a
 * time to live for the journals of names that are no longer held. No thread runs in the background:
 * appends and reads drop old entries.
 *
 * <p>Secrets are kept out by type: {@link dev.polis.logtree.Secret}, private keys and byte arrays
 * given as arguments are named, never printed.
 *
 * <p>Not promised: entries survive neither the process nor the quota, a slow reader loses entries
 * (and learns how many), and a secret that was turned into a {@code String} before logging is
 * printed.
 */
@org.osgi.annotation.bundle.Export
@org.osgi.annotation.versioning.Version("3.0.0")
package dev.polis.logtree;
