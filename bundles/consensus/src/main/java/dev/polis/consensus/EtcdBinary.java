package dev.polis.consensus;

import dev.polis.api.consensus.ConsensusException;
import dev.polis.base.digest.Sha256;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.process.Commands;
import dev.polis.process.ProgramPath;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Names an etcd of an accepted version.
 *
 * @param path the executable, absolute, links resolved
 * @param version its reported version
 */
record EtcdBinary(Path path, EtcdVersion version) {

  private static final String NAME = "etcd";
  private static final String REMEDY =
      "; set etcd of dev.polis.consensus to etcd " + EtcdVersion.OLDEST + " or newer";
  // etcd answers in 20 ms. An emulated machine beside other work has needed more than 10 s, and a
  // start fails without the answer.
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int SHOWN_CHARACTERS = 200;

  /**
   * Finds etcd.
   *
   * @param configured the path of etcd or of its directory; empty to search PATH
   * @throws ConsensusException if none is usable
   */
  static EtcdBinary find(String configured) throws InterruptedException {
    return ask(located(configured));
  }

  private static Path located(String configured) {
    return ProgramPath.find(configured, List.of(NAME))
        .orElseThrow(() -> new ConsensusException(ProgramPath.problem(configured, NAME) + REMEDY));
  }

  /**
   * Finds etcd, and runs each program only once for its version: a file keeps the answer with the
   * program's digest, which saves each later start a process.
   *
   * @param notes the file; an unreadable one is replaced
   * @throws FileException if it cannot be written
   */
  static EtcdBinary find(String configured, FilePlacement notes)
      throws InterruptedException, FileException {
    Path path = located(configured);
    String digest = digest(path);
    if (notes.read() instanceof Stored.Present<byte[]>(Path _, byte[] text)) {
      String[] lines = new String(text, StandardCharsets.UTF_8).split("\n", 2);
      Optional<EtcdVersion> version =
          lines.length == 2 && lines[0].equals(digest)
              ? EtcdVersion.find(lines[1])
              : Optional.empty();
      if (version.isPresent()) {
        return accepted(path, version.get());
      }
    }
    EtcdBinary binary = ask(path);
    notes.write(
        "%s\netcd Version: %s\n"
            .formatted(digest, binary.version())
            .getBytes(StandardCharsets.UTF_8));
    return binary;
  }

  /** Returns a digest that another build under the same path does not share. */
  String digest() {
    return digest(path);
  }

  private static String digest(Path path) {
    try {
      return Sha256.ofProgram(path);
    } catch (IOException unreadable) {
      throw new ConsensusException(
          "cannot read " + path + ": " + unreadable.getMessage() + REMEDY, unreadable);
    }
  }

  private static EtcdBinary ask(Path path) throws InterruptedException {
    String answer = answer(path);
    EtcdVersion version =
        EtcdVersion.find(answer)
            .orElseThrow(
                () ->
                    new ConsensusException(
                        "%s is not etcd: with --version it printed \"%s\"%s"
                            .formatted(path, shown(answer), REMEDY)));
    if (EtcdVersion.isPreRelease(answer)) {
      throw new ConsensusException(
          "%s is a pre-release of etcd %s, and Polis does not know its defects%s"
              .formatted(path, version, REMEDY));
    }
    return accepted(path, version);
  }

  private static EtcdBinary accepted(Path path, EtcdVersion version) {
    if (!version.atLeast(EtcdVersion.OLDEST)) {
      throw new ConsensusException(
          "%s is etcd %s, older than %s%s%s"
              .formatted(path, version, EtcdVersion.OLDEST, reasons(version), REMEDY));
    }
    return new EtcdBinary(path, version);
  }

  private static String reasons(EtcdVersion version) {
    return EtcdDefect.of(version).stream()
        .map(EtcdDefect::toString)
        .collect(
            Collectors.collectingAndThen(
                Collectors.joining(", "), all -> all.isEmpty() ? "" : ": " + all));
  }

  private static String answer(Path path) throws InterruptedException {
    try {
      return new Commands().run(PATIENCE, List.of(path.toString(), "--version")).output();
    } catch (IOException cannotRun) {
      throw new ConsensusException(
          path + " cannot be asked for its --version: " + cannotRun.getMessage() + REMEDY,
          cannotRun);
    }
  }

  private static String shown(String answer) {
    String line = answer.strip().replace('\n', ' ');
    return line.length() <= SHOWN_CHARACTERS ? line : line.substring(0, SHOWN_CHARACTERS) + "…";
  }
}
