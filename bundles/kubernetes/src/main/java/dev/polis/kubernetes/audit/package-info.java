/**
 * Reads the audit log that the API server of this node writes.
 *
 * <pre>
 *   kube-apiserver ──appends, renames──▶ data/kubernetes-audit/audit.log
 *                                                              audit-2026-11-24T10-41-18.123.log …
 *   operator ──management listener──▶ AuditEndpoint ──AuditCursor──▶ the same files
 * </pre>
 *
 * <p>A line is one record, an Event of {@code audit.k8s.io/v1} in JSON. A file that is full gets
 * its time as a part of its name, another one is begun, and the oldest is deleted when there are
 * too many: the log has {@code audit.files} times {@code audit.file.mebibytes}, and one file more
 * for the moment in which it is deleted. It stays when the role goes.
 *
 * <p>A place in the log is the inode of a file and an offset, as the name of a file changes while
 * it is read. A place that is there no more is followed by the oldest record that is.
 *
 * <p>A record has 8 MiB at most: a head of HTTP has one, and a character of it takes up to six
 * bytes in JSON. A record that is larger with its quotes of requests and answers is written without
 * them; so no request is too large to be recorded. A reader is sent the first 256 KiB of a record.
 *
 * <p>Not promised: that a request is refused when it cannot be recorded, as the node's own audit
 * log does it. On a full disk the API server continues, and says so in its log. Nor a chain of
 * hashes: root, and a broken API server, can write what they like.
 *
 * <p>Why not parsed here: the operator's program shows what it understands, and the rest as it is.
 */
package dev.polis.kubernetes.audit;
