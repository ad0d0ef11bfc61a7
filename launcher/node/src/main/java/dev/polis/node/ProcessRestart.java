package dev.polis.node;

import dev.polis.base.posix.ProcessImage;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Starts this process over: with the same arguments, and with what lies on the disk now. */
final class ProcessRestart {
  private static final Path OWN_COMMAND = Path.of("/proc/self/cmdline");

  /** The first start has used these, and standard input holds no second key. */
  private static final Set<String> FOR_THE_FIRST_START =
      Set.of("--parameters", "--recovery-key", "--force-new-cluster", "--restore");

  private ProcessRestart() {}

  /**
   * Replaces this process. Returns only by throwing.
   *
   * @param starter a program that gets the folder of this JVM and the arguments, if there is one;
   *     otherwise the JVM is started with the options and the class path it has now
   * @throws IOException if the command line of this process cannot be read, or the program cannot
   *     be run
   */
  static void replace(Optional<Path> starter) throws IOException {
    ProcessImage.replace(command(ownCommand(), starter, System.getProperty("java.home")));
  }

  private static List<String> ownCommand() throws IOException {
    String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
    String line = new String(Files.readAllBytes(OWN_COMMAND), Charset.forName(encoding));
    List<String> words = new ArrayList<>(List.of(line.split("\0", -1)));
    words.removeLast(); // behind the last terminator
    words.set(0, ProcessHandle.current().info().command().orElse(words.getFirst()));
    return words;
  }

  /** Returns the command that starts the node again. */
  static List<String> command(List<String> own, Optional<Path> starter, String javaHome) {
    int arguments = own.indexOf(Main.class.getName()) + 1;
    List<String> command = new ArrayList<>();
    if (starter.isPresent()) {
      command.add(starter.get().toString());
      command.add(javaHome);
    } else {
      command.addAll(own.subList(0, arguments));
    }
    Iterator<String> words = own.subList(arguments, own.size()).iterator();
    while (words.hasNext()) {
      String word = words.next();
      if (FOR_THE_FIRST_START.contains(word)) {
        words.next();
      } else if (FOR_THE_FIRST_START.stream().noneMatch(name -> word.startsWith(name + "="))) {
        command.add(word);
      }
    }
    return command;
  }
}
