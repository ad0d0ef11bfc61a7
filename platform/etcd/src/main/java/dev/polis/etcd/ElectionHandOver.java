package dev.polis.etcd;

/**
 * Hands a candidate's place to its successor in the same process: the lease is neither revoked nor
 * renewed meanwhile, so the successor must take it up well within the lease's time.
 *
 * @param leaseId lease on which the lock hangs
 * @param lockKey key of the lock within the client's namespace
 * @param createRevision revision at which the lock was made
 */
public record ElectionHandOver(long leaseId, String lockKey, long createRevision) {}
