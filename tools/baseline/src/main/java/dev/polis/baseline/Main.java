package dev.polis.baseline;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Compares the platform's packages with the last release, or records those of a new one. */
public final class Main {
  private static final String RELEASE = "tools/baseline/release.gz";

  private Main() {}

  /**
   * A step of the build.
   *
   * @param arguments {@code check} or {@code record}, the folder of the repository, and the version
   *     of the platform
   * @throws Exception with what to do, if a package needs another version
   */
  public static void main(String[] arguments) throws Exception {
    Path repository = Path.of(arguments[1]);
    Path release = repository.resolve(RELEASE);
    ApiTree now = ApiTree.of(arguments[2], bundles(repository, arguments[2]));
    switch (arguments[0]) {
      case "record" -> now.write(release);
      case "check" -> check(now, ApiTree.read(release));
      default ->
          throw new IllegalArgumentException(
              "-Dpolis.baseline=%s is neither \"check\" nor \"record\"".formatted(arguments[0]));
    }
  }

  static void check(ApiTree now, ApiTree released) throws Exception {
    List<String> troubles = VersionCheck.troubles(now, released);
    if (!troubles.isEmpty()) {
      throw new IllegalStateException(
          "exported packages need other versions: raise @Version in their package-info.java, and those of dev.polis.wire in platform/wire/bnd.bnd\n  "
              + String.join("\n  ", troubles));
    }
  }

  /** Returns the jars of the platform's own modules. */
  private static List<Path> bundles(Path repository, String version) throws IOException {
    List<Path> bundles = new ArrayList<>();
    try (Stream<Path> modules = Files.list(repository.resolve("platform"))) {
      for (Path module : modules.filter(each -> Files.exists(each.resolve("bnd.bnd"))).toList()) {
        Path jar =
            module
                .resolve("target")
                .resolve("dev.polis.%s-%s.jar".formatted(module.getFileName(), version));
        if (!Files.exists(jar)) {
          throw new IOException(
              jar + " is missing: build the platform before its packages are compared");
        }
        bundles.add(jar);
      }
    }
    return bundles;
  }
}
