package dev.polis.logtree;

/**
 * Counts what a log tree holds at one moment.
 *
 * @param journals names that have a journal
 * @param entries entries in all of them
 * @param bytes estimated memory of these entries
 * @param appended entries ever appended, those that were dropped since included; only grows
 * @param readers readers that follow
 */
public record LogStatistics(int journals, long entries, long bytes, long appended, int readers) {}
