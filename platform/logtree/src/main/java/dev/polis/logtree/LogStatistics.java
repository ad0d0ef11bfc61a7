package dev.polis.logtree;

/**
 * Counts the content of a log tree at one moment.
 *
 * @param journals names that have a journal
 * @param entries entries in all of them
 * @param bytes estimated memory of these entries
 * @param appended all entries ever appended, also dropped ones; only grows
 * @param readers readers that follow
 */
public record LogStatistics(int journals, long entries, long bytes, long appended, int readers) {}
