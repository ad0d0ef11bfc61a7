package dev.polis.etcd;

/**
 * Hands a candidate's place to its successor in the same process. Meanwhile the lease is neither
 * revoked nor renewed, so the successor must take it well within the lease's time.
 *
 * @param leaseId the lease of the lock
 * @param lockKey key of the lock within the client's namespace
 * @param createRevision revision at which the lock was made
 * @param written true if the holder may have written the lock again, so that other candidates count
 *     the time since its last write
 */
public record ElectionHandOver(
    long leaseId, String lockKey, long createRevision, boolean written) {}
