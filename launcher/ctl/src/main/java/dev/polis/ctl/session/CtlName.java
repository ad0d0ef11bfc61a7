package dev.polis.ctl.session;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Returns the name of this program, so that the commands it prints can be pasted. */
public final class CtlName {
  /** Matches the words that a shell takes as they are. */
  private static final String PLAIN = "[A-Za-z0-9@%+=:,./_-]+";

  /** {@code ./polis ctl} runs this program. */
  private static final String SUBCOMMAND = " ctl";

  private static final String MAIN = "dev.polis.ctl.Ctl";

  private CtlName() {}

  /** Returns the words it was called with; {@code ./polis ctl} says so in the environment. */
  public static String called() {
    return System.getenv().getOrDefault("POLIS_COMMAND", "polisctl");
  }

  /**
   * Returns the words that run this program from any folder, for others that run it: the script
   * that was called, or else this Java with its class path.
   */
  public static List<String> absolute() {
    String script = System.getenv().getOrDefault("POLIS_COMMAND", "");
    if (script.endsWith(SUBCOMMAND)) {
      String path = script.substring(0, script.length() - SUBCOMMAND.length());
      return List.of(Path.of(path).toAbsolutePath().normalize().toString(), SUBCOMMAND.strip());
    }
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classPath =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(each -> Path.of(each).toAbsolutePath().toString())
            .collect(Collectors.joining(File.pathSeparator));
    return List.of(java, "-cp", classPath, MAIN);
  }

  /** Returns a word for a shell, in quotes if it needs them. */
  public static String quoted(Object word) {
    String text = word.toString();
    return text.matches(PLAIN) ? text : "'" + text.replace("'", "'\\''") + "'";
  }
}
