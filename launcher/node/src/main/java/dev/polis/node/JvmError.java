package dev.polis.node;

import dev.polis.process.JvmReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Turns the report that a JVM leaves when it gives up into a crash record. */
final class JvmError {

  private JvmError() {}

  /**
   * Makes the crash record of what the last JVM left, if it left anything, and takes that away.
   *
   * @throws IOException if the state directory can not be read or written
   */
  static void record(NodeDirectory directory) throws IOException {
    Path file = directory.launcher().jvmError().path();
    Optional<JvmReport> left = JvmReport.read(file);
    if (left.isPresent()) {
      JvmReport report = left.get();
      Node.keepCrash(
          directory, FatalErrorReport.record(report.when(), "jvm", report.cause(), report.text()));
      Files.delete(file);
    }
  }
}
