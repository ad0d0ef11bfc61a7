package dev.polis.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds out why the process of a node ended without a report: a node writes a note when it starts,
 * and removes it when it ends by itself.
 */
public final class KilledProcess {

  /** The word before the kernel's name for the run of the machine, in a line of the note. */
  public static final String BOOT = "boot";

  /** The word before the number of the process. */
  public static final String PROCESS = "process";

  private static final Pattern NOTED_BOOT = Pattern.compile("(?m)^%s (\\S+)$".formatted(BOOT));
  private static final Pattern NOTED_PROCESS =
      Pattern.compile("(?m)^%s (\\d{1,18})$".formatted(PROCESS));

  private KilledProcess() {}

  /**
   * Returns how the process ended whose note is there, as a clause for people; empty if there is no
   * note for this user. The process must have ended.
   *
   * @throws InterruptedException if interrupted while the kernel's log is read
   */
  public static Optional<String> of(Path note) throws InterruptedException {
    String text;
    try {
      text = Files.readString(note, StandardCharsets.ISO_8859_1);
    } catch (IOException none) {
      return Optional.empty();
    }
    Matcher process = NOTED_PROCESS.matcher(text);
    Matcher boot = NOTED_BOOT.matcher(text);
    if (!process.find()) {
      return Optional.empty();
    }
    String number = process.group(1);
    if (boot.find() && !boot.group(1).equals(Proc.bootId())) {
      return Optional.of(
          "its process %s ran when the machine stopped without ending it (a loss of power, a crash or a forced restart), and the machine has started since"
              .formatted(number));
    }
    return Optional.of(
        "its process %s was ended by a signal like 9 (SIGKILL), which leaves no report: %s"
            .formatted(number, KernelLog.killer(Long.parseLong(number))));
  }
}
