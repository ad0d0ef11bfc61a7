package dev.polis.rpc.audit;

import dev.polis.files.AtomicFile;
import dev.polis.fixtures.power.PowerScenario;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Writes the audit log over several files; a confirmed record must be in it. */
final class AuditScenario implements PowerScenario {
  /** The size of a file, which two records fill. */
  private static final AuditSettings SMALL = new AuditSettings(4096, 8);

  private static final String PADDING = "x".repeat(1100);

  @Override
  public List<Step> steps() {
    List<Step> steps = new ArrayList<>();
    steps.add(
        root -> {
          Files.createDirectory(folder(root).path());
          AtomicFile.force(root);
        });
    steps.add(root -> open(root).close());
    for (int i = 0; i < 5; i++) {
      String text = "change " + i;
      steps.add(root -> append(root, text));
    }
    return steps;
  }

  private static AuditFolder folder(Path root) {
    return new AuditFolder(root.resolve("audit"));
  }

  private static AuditWriter open(Path root) throws IOException {
    return AuditWriter.open(folder(root), SMALL, Long.MAX_VALUE);
  }

  private static void append(Path root, String text) throws IOException {
    try (AuditWriter writer = open(root)) {
      writer.append(List.of(draft(text)));
    }
  }

  private static AuditRecord.Draft draft(String text) {
    return new AuditRecord.Draft(
        Instant.EPOCH, AuditKind.BEGIN, "c", "p", "m", text + " " + PADDING);
  }

  /** Returns the records that a start keeps; it only reads, since a repair would force them. */
  @Override
  public String observe(Path root) throws IOException {
    if (!Files.isDirectory(folder(root).path())) {
      return "nothing";
    }
    List<Path> files = folder(root).files();
    List<String> found = new ArrayList<>();
    for (Path file : files) {
      List<AuditRecord> records = new ArrayList<>();
      AuditScan scan = AuditScan.of(file, records::add);
      records.stream()
          .filter(record -> record.mark().sequence() <= scan.sound().sequence())
          .filter(record -> record.kind() == AuditKind.BEGIN)
          .forEach(record -> found.add(record.text().replace(PADDING, "")));
      if (!file.equals(files.getLast()) || !scan.torn(AuditWriter.LONGEST_WRITE)) {
        scan.faults().forEach(fault -> found.add(fault.toString()));
      }
    }
    return files.isEmpty() ? "no file" : found.toString();
  }
}
