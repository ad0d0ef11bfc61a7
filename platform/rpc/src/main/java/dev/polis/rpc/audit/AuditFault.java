package dev.polis.rpc.audit;

/**
 * Describes a fault in the chain.
 *
 * @param file name of the file
 * @param line number of the line, from 1; 0 for the whole file
 * @param reason the fault
 */
public record AuditFault(String file, long line, String reason) {}
