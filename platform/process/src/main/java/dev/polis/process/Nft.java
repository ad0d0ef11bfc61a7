package dev.polis.process;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Finds the program nft. */
public final class Nft {

  private Nft() {}

  /**
   * Returns the command of nft: the program unpacked beside its libraries, or else the machine's
   * own.
   *
   * @param programs the folder of Kubernetes' programs, which may contain it
   */
  public static List<String> command(Path programs, String... arguments) {
    Path tools = programs.resolve("root/usr");
    Path unpacked = tools.resolve("sbin/nft");
    List<String> program =
        Files.isExecutable(unpacked)
            ? List.of(
                "env",
                "LD_LIBRARY_PATH=" + tools.resolve("lib/x86_64-linux-gnu"),
                unpacked.toString())
            : List.of("nft");
    return Stream.concat(program.stream(), Stream.of(arguments)).toList();
  }
}
