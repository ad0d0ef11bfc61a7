package dev.polis.rpc.audit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads the files of an audit log, with or without a running writer.
 *
 * @param path the directory
 */
public record AuditFolder(Path path) {
  private static final Pattern NAME = Pattern.compile("audit-([0-9]{6,9})\\.log");

  /**
   * Is the result of a check of the whole log.
   *
   * @param files the number of files
   * @param records the number of read records
   * @param first number of the oldest record
   * @param last the newest record
   * @param faults the faults of the chain; empty if it is whole
   */
  public record Verdict(
      int files, long records, long first, AuditMark last, List<AuditFault> faults) {}

  static String name(long number) {
    return "audit-%06d.log".formatted(number);
  }

  static long number(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    if (!name.matches()) {
      throw new IllegalArgumentException(file + " is no file of an audit log");
    }
    return Long.parseLong(name.group(1));
  }

  /** Returns the files, oldest first. */
  List<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(path)) {
      return all.filter(file -> NAME.matcher(file.getFileName().toString()).matches())
          .sorted(Comparator.comparingLong(AuditFolder::number))
          .toList();
    }
  }

  /**
   * Checks the whole chain.
   *
   * @param upTo the last record to check; later ones may be half written
   * @param expected a record noted earlier; it must be present unless it is older than all kept
   *     records
   * @throws InterruptedException if the thread is interrupted; a file of 4 MiB is read to its end
   */
  public Verdict verify(long upTo, Optional<AuditMark> expected)
      throws IOException, InterruptedException {
    Check check = new Check(upTo, expected);
    for (Path file : files()) {
      if (Thread.interrupted()) {
        throw new InterruptedException("the check of the audit log was interrupted");
      }
      try {
        check.next(file);
      } catch (NoSuchFileException deleted) {
        // The oldest file was deleted by the writer meanwhile; the rest of the chain is checked.
        continue;
      }
    }
    return check.verdict();
  }

  /** Checks the files one after the other. */
  private static final class Check {
    private final long upTo;
    private final AuditMark wanted; // null if no record is expected
    private final List<AuditFault> faults = new ArrayList<>();
    private boolean found;
    private boolean other;
    private int files;
    private long records;
    private long first;
    private long number;
    private AuditMark last = AuditMark.ORIGIN;

    Check(long upTo, Optional<AuditMark> wanted) {
      this.upTo = upTo;
      this.wanted = wanted.orElse(null);
    }

    void next(Path file) throws IOException {
      AuditScan scan = AuditScan.of(file, this::record);
      // A line may lack its end while the writer writes it.
      faults.addAll(scan.sound().sequence() >= upTo ? List.of() : scan.faults());
      if (files > 0) {
        joint(file, scan).ifPresent(faults::add);
      }
      files++;
      number = AuditFolder.number(file);
      last = scan.stated();
    }

    private void record(AuditRecord record) {
      records++;
      first = first == 0 ? record.mark().sequence() : first;
      if (wanted != null && wanted.sequence() == record.mark().sequence()) {
        found |= wanted.equals(record.mark());
        other |= !wanted.equals(record.mark());
      }
    }

    private Optional<AuditFault> joint(Path file, AuditScan scan) {
      String name = file.getFileName().toString();
      if (AuditFolder.number(file) != number + 1) {
        return Optional.of(
            new AuditFault(
                name, 0, "the file before it is missing: " + name(AuditFolder.number(file) - 1)));
      }
      return scan.follows()
          .filter(mark -> !mark.equals(last))
          .map(
              mark ->
                  new AuditFault(
                      name,
                      1,
                      "it follows record %d, but the file before it ends with another record %d"
                          .formatted(mark.sequence(), last.sequence())));
    }

    Verdict verdict() {
      Optional.ofNullable(wanted).flatMap(this::missing).ifPresent(faults::add);
      return new Verdict(files, records, first, last, List.copyOf(faults));
    }

    private Optional<AuditFault> missing(AuditMark mark) {
      if (found || mark.sequence() < first) {
        return Optional.empty();
      }
      String reason =
          other
              ? "record %d has another hash than expected: the log was rewritten"
                  .formatted(mark.sequence())
              : "record %d, which was expected, is not there; the last one is %d"
                  .formatted(mark.sequence(), last.sequence());
      return Optional.of(new AuditFault("", 0, reason));
    }
  }

  /** Returns the index of the newest file that begins at or before a record. */
  static int begin(List<Path> files, long after) throws IOException {
    for (int i = files.size() - 1; i > 0; i--) {
      OptionalLong first = firstSequence(files.get(i));
      if (first.isPresent() && first.getAsLong() - 1 <= after) {
        return i;
      }
    }
    return 0;
  }

  private static OptionalLong firstSequence(Path file) throws IOException {
    try (Stream<String> lines = Files.lines(file)) {
      return lines
          .findFirst()
          .flatMap(AuditRecord::parse)
          .map(record -> OptionalLong.of(record.mark().sequence()))
          .orElseGet(OptionalLong::empty);
    } catch (UncheckedIOException | NoSuchFileException unreadable) {
      return OptionalLong.empty();
    }
  }
}
