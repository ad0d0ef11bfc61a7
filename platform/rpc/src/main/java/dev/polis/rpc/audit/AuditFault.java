package dev.polis.rpc.audit;

/**
 * Says where a chain is broken.
 *
 * @param file name of the file
 * @param line number of the line, from 1; 0 if it is about the whole file
 * @param reason what is wrong there
 */
public record AuditFault(String file, long line, String reason) {}
