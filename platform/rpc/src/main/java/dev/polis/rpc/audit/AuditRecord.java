package dev.polis.rpc.audit;

import dev.polis.base.digest.Sha256;
import dev.polis.logtree.LogFormat;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Optional;

/**
 * Is one record of the audit log.
 *
 * @param mark its number and hash
 * @param time the time of its creation
 * @param kind its kind
 * @param call the number of the call; empty without a call
 * @param peer the caller; empty without a caller
 * @param method the full name of the method; empty without a call
 * @param text the request, the outcome, or the event
 */
public record AuditRecord(
    AuditMark mark,
    Instant time,
    AuditKind kind,
    String call,
    String peer,
    String method,
    String text) {
  private static final int COLUMNS = 8;

  /** The longest text in characters; a request has 512, a status message as many. */
  private static final int LONGEST = 1200;

  /**
   * Holds the content of a record before the record has its place in the chain. Control characters,
   * with which a caller could forge lines, become question marks; texts that are too long are cut.
   */
  record Draft(Instant time, AuditKind kind, String call, String peer, String method, String text) {
    Draft {
      call = plain(call);
      peer = plain(peer);
      method = plain(method);
      text = plain(text);
    }

    AuditRecord after(AuditMark before) {
      long sequence = before.sequence() + 1;
      String body = body(sequence, time, kind, call, peer, method, text);
      return new AuditRecord(
          new AuditMark(sequence, hash(before.hash(), body)), time, kind, call, peer, method, text);
    }
  }

  private static String plain(String text) {
    StringBuilder plain = new StringBuilder(Math.min(text.length(), LONGEST));
    text.codePoints()
        .limit(LONGEST)
        .forEach(c -> plain.appendCodePoint(LogFormat.isPrintable(c) ? c : '?'));
    return plain.toString();
  }

  private static String body(
      long sequence,
      Instant time,
      AuditKind kind,
      String call,
      String peer,
      String method,
      String text) {
    return String.join(
        "\t", Long.toString(sequence), time.toString(), kind.name(), call, peer, method, text);
  }

  private static String hash(String before, String body) {
    return Sha256.hex((before + "\t" + body).getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the record's line in the file, without the line feed. */
  String line() {
    return mark.hash() + "\t" + body(mark.sequence(), time, kind, call, peer, method, text);
  }

  /**
   * Returns whether the record's hash is right and its number is the next one.
   *
   * @param line the record's line
   */
  boolean follows(AuditMark before, String line) {
    return mark.sequence() == before.sequence() + 1
        && mark.hash().equals(hash(before.hash(), line.substring(mark.hash().length() + 1)));
  }

  /** Returns the record of a line; empty if the line is no record. */
  static Optional<AuditRecord> parse(String line) {
    String[] columns = line.split("\t", -1);
    if (columns.length != COLUMNS) {
      return Optional.empty();
    }
    try {
      AuditRecord record =
          new AuditRecord(
              AuditMark.parse(columns[1] + ":" + columns[0]),
              Instant.parse(columns[2]),
              AuditKind.valueOf(columns[3]),
              columns[4],
              columns[5],
              columns[6],
              columns[7]);
      // A line that differs from its printed form would have another hash.
      return record.line().equals(line) ? Optional.of(record) : Optional.empty();
    } catch (IllegalArgumentException | DateTimeException e) {
      return Optional.empty();
    }
  }
}
