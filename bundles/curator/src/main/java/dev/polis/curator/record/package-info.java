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
 * exists (the fence), so a leader that was replaced without noticing cannot write, and its calls
 * end with UNAVAILABLE. Concurrent calls share transactions ({@code RequestBatcher}): while one is
 * in progress, new calls wait, and the next transaction serves all of them. Updates are made one
 * after the other, each on the result of the one before; watches may see the last of them only. The
 * transaction compares the revisions that memory has, so it mostly takes one exchange. If etcd
 * refuses a transaction, its halves are tried alone, until only what is refused fails.
 *
 * <p><b>Reads</b> are linearizable, and mostly answered from memory. Why that is safe:
 *
 * <ul>
 *   <li>Only the holder of the lock can write. While this node holds it, whatever was acknowledged
 *       is either from before, and in the listing with which memory began, or its own, and in
 *       memory before it is acknowledged.
 *   <li>The lock exists until its lease ends at etcd, which counts from when it receives a
 *       keep-alive request. This node counts from before it sends the request, by a clock that runs
 *       on while the machine is suspended and others, and stops a quarter of the lease's time
 *       earlier ({@code dev.polis.etcd.LeaderLease}).
 *   <li>Memory is read first and the lease is checked afterwards. So the answer was true when
 *       memory was read, which is after the call was made. If the process stands still between the
 *       two, the check fails; if it stands still between the check and the answer, the answer is
 *       late but was true during the call, which is all that linearizability asks.
 *   <li>Otherwise, and whenever memory is in doubt, one fenced listing that begins after the call
 *       answers it, and is taken over into memory first.
 *   <li>Memory is in doubt after a write whose outcome is unknown. Such a write may also take
 *       effect later; then it is as if it was made when memory learns of it, from the watch or from
 *       the next transaction that compares a revision. That no one sees it earlier is because reads
 *       and watches get records from memory only.
 *   <li>Resigning and handing over to another instance end the lease here before etcd or the other
 *       instance hears of it. The other one begins with a listing of its own.
 *   <li>If etcd's data were restored, a keep-alive answer has a lower revision than one before. The
 *       leadership is then given up, and memory with it.
 * </ul>
 *
 * <p><b>Watches</b> begin with memory, and with a listing if the check afterwards fails: so with
 * all that was acknowledged before the call. What a watch shows, a read shows, too.
 *
 * <p>A damaged record harms itself alone. It is named in the log; those who ask for it by name get
 * DATA_LOSS; lists of nodes show it without a state, and watches of all nodes keep what they had.
 *
 * <p>Not promised: that a read sees at once what another client wrote to etcd without the curator;
 * the watch brings it within moments. Nor that a read is right after an operator deletes the
 * leader's lock or revokes its lease by hand, until the leader sees that; and no program can notice
 * that a virtual machine's host has stopped all clocks of the machine.
 *
 * <p>Why not ask etcd for each read, as before: a read cost two hops over TLS and two to four times
 * the time of a read of bare etcd. Why not trust the watch alone: it has no deadline, so a leader
 * that was cut off would answer from the past.
 */
package dev.polis.curator.record;
