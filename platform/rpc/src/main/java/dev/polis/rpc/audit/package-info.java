/**
 * Keeps the audit log: who changed what on this node, in files on the data volume.
 *
 * <pre>
 *   call ──begin──▶ queue ──▶ writer thread ──append, fsync──▶ data/audit/audit-000001.log
 *    │                                │                                   audit-000002.log …
 *    └─handler─▶ await ◀──durable─────┘
 * </pre>
 *
 * <p>A line is one record: the SHA-256 of the line before it and of its own text, a number, a time,
 * a kind, the call, the peer, the method and a text, separated by tabs. The first line of a file
 * names the number and the hash of the last line of the file before. So {@link
 * dev.polis.rpc.audit.AuditFolder#verify} finds a changed, removed or added line. A file that is
 * full is followed by another one, and the oldest is deleted when there are too many.
 *
 * <p>A mutating call of an authenticated peer is written before its handler is asked (BEGIN), and
 * its outcome afterwards (END). The caller is answered when the BEGIN is on the disk. It is written
 * while the handler works, and one fsync serves all calls that wait, so that a change costs about
 * as long as before. The END is on the disk within {@code 100 ms}; a BEGIN without an END is a call
 * whose outcome is not known, as after a loss of power.
 *
 * <p>The log counts the refused calls of strangers, and writes one line for a period that grows
 * from 10 seconds to an hour while refusals continue. So no number of calls pushes other records
 * out of the log. Nodes' reports about themselves, which come every few seconds, are counted too,
 * and written once an hour.
 *
 * <p>While there is no data volume, or its disk is full, records stay in memory and are written
 * later; they do not survive the process. When {@link dev.polis.rpc.audit.AuditLog#HELD} records
 * are held, further changes are refused: the log fails closed.
 *
 * <p>The platform owns the writer, which stands still while organs are replaced; the storage organ
 * says where the files are, and closes them before it unmounts the volume.
 *
 * <p><b>Not promised.</b> The chain has no key: root on the machine can write a whole new one. Keep
 * the output of {@code polisctl audit verify} at another place; {@code --expect} compares it later.
 * After a loss of power the last line may be incomplete; the log cuts it off and a record reports
 * this.
 *
 * <p><b>Why not the log tree.</b> It is a ring in memory that a flood of calls overwrites.
 */
@Export
@Version("1.0.0")
package dev.polis.rpc.audit;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
