/**
 * Reads the audit log that the API server of this node writes.
 *
 * <pre>
 *   kube-apiserver ──appends, renames──▶ data/kubernetes-audit/audit.log
 *                                                              audit-2026-11-24T10-41-18.123.log …
 *   operator ──management listener──▶ AuditEndpoint ──AuditCursor──▶ the same files
 * </pre>
 *
 * <p>A line is one record, an Event of {@code audit.k8s.io/v1} in JSON. The API server renames a
 * full file to a name with its time, begins another one, and deletes the oldest if there are too
 * many: the log has {@code audit.files} times {@code audit.file.mebibytes}, and one file more until
 * the deletion. It stays when the role goes.
 *
 * <p>A place in the log is the inode of a file and an offset, because the name of a file may change
 * during a read. After a deleted place, a read continues with the oldest record.
 *
 * <p>A record has 8 MiB at most: a head of HTTP has at most one MiB, and a character of it takes up
 * to six bytes in JSON. The API server writes a larger record without its quotes of requests and
 * answers; so it records every request. A reader gets the first 256 KiB of a record.
 *
 * <p>Not promised: that the API server refuses a request that it cannot record, as the node's own
 * audit log does. On a full disk the API server continues, and reports that in its log. Nor a chain
 * of hashes: root, and a compromised API server, can write anything.
 *
 * <p>Why does the node not parse records: the operator's program shows the fields that it knows,
 * and the rest as it is.
 */
package dev.polis.kubernetes.audit;
