/**
 * Keeps all records of the cluster in memory while this node leads, and writes them to etcd.
 *
 * <pre>
 *    reads ◀─ RecordReader ◀─ RecordMemory ◀──────── RecordWatch
 *                   ┊ only if not   ▲                    │
 *                   ┊ certain to    │ acknowledged       │
 *                   ┊ lead          │                    │
 *    writes ─▶ RecordUpdater ───────┘                    │
 *                   │ one fenced transaction             │
 *                   ▼ for all waiting calls              │
 *              etcd, namespace curator/ ─────────────────┘
 * </pre>
 *
 * <p><b>Writes.</b> Each is part of an etcd transaction that holds only while the leader's lock
 * exists (the fence), so a former leader that has not noticed its end cannot write, and its calls
 * end with UNAVAILABLE. Concurrent calls share transactions ({@code RequestBatcher}): while one is
 * in progress, new calls wait, and the next transaction serves all of them. The updater computes
 * the updates one after the other, each on the result of the one before; watches may see only the
 * last of them. The transaction compares the revisions that memory has, so it mostly takes one
 * exchange. If etcd refuses a transaction, the curator tries its halves alone, until only the
 * refused updates fail.
 *
 * <p><b>Changes with an id</b> are made once ({@code ChangeMemory}): the record of the caller's
 * last changes is part of the same transaction, which compares its revision, and holds the answers.
 * So an attempt that takes effect late fails if another one was made meanwhile, also under the next
 * leader. A change without an id writes nothing more.
 *
 * <p><b>Reads</b> are linearizable, and memory answers most of them. Why that is safe:
 *
 * <ul>
 *   <li>Only the holder of the lock can write. While this node holds it, each acknowledged write is
 *       either older, and in the listing with which memory began, or this node's own, and in memory
 *       before this node acknowledges it.
 *   <li>The lock exists until its lease ends at etcd, which counts from when it receives a
 *       keep-alive request. This node counts from before it sends the request, by a clock that also
 *       runs while the machine is suspended, and stops a quarter of the lease's time earlier
 *       ({@code dev.polis.etcd.LeaderLease}).
 *   <li>Memory is read first and the lease is checked afterwards. So the answer was true when the
 *       curator read memory, which was after the call began. If the process pauses between the two,
 *       the check fails; if it pauses between the check and the answer, the answer is late but was
 *       true during the call, which is all that linearizability requires.
 *   <li>Otherwise, and whenever memory is in doubt, one fenced listing that begins after the call
 *       answers it, after memory has taken it over.
 *   <li>Memory is in doubt after a write whose outcome is unknown. Such a write may also take
 *       effect later; for clients it then happens when memory learns of it, from the watch or from
 *       the next transaction that compares a revision. No client sees it earlier, because reads and
 *       watches get records from memory only.
 *   <li>Resigning and handing over to another instance end the lease here before etcd or the other
 *       instance learns of it. The other instance begins with its own listing.
 *   <li>If etcd's data were restored, a keep-alive answer has a lower revision than one before. The
 *       node then gives up the leadership and its memory.
 * </ul>
 *
 * <p><b>Watches</b> begin with memory, and with a listing if the check afterwards fails: so with
 * all writes that were acknowledged before the call. A read also shows all that a watch has shown.
 *
 * <p>A damaged record affects no other record. The log names it; a call that names it gets
 * DATA_LOSS; lists of nodes show it without a state, and watches of all nodes keep the last state.
 *
 * <p>Not promised: that a read sees at once a write of another client to etcd without the curator;
 * the watch delivers it within moments. Nor that a read is right after an operator deletes the
 * leader's lock or revokes its lease by hand, until the leader sees that; and no program can detect
 * that the host of a virtual machine has stopped all its clocks.
 *
 * <p>Why not ask etcd for each read, as before: a read cost two hops over TLS and two to four times
 * the time of a plain etcd read. Why not trust the watch alone: it has no deadline, so an isolated
 * leader would give old answers.
 */
package dev.polis.curator.record;
