package dev.polis.node;

import dev.polis.node.exit.Exit;
import dev.polis.node.exit.Refusal;
import dev.polis.plugins.plan.BundleManifest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.osgi.framework.Version;
import org.osgi.framework.VersionRange;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The last step of the build: takes the bundles that were resolved, and no others, and writes down
 * their digests.
 */
@Command(
    name = "assemble",
    hidden = true,
    description = "Copy the bundles of a .bndrun into a distribution and seal it.")
final class AssembleCommand implements Callable<Integer> {
  private static final Pattern RUN_BUNDLES = Pattern.compile("(?ms)^-runbundles:(.*?[^\\\\])$");
  private static final Pattern BUNDLE = Pattern.compile("([\\w.-]+);version='([^']+)'");

  @Option(names = "--bndrun", required = true, description = "The resolved .bndrun.")
  private Path bndrun;

  @Option(names = "--pool", required = true, description = "Folder of all bundles there are.")
  private Path pool;

  @Option(names = "--output", required = true, description = "The distribution.")
  private Path output;

  @Override
  public Integer call() throws Exception {
    Path bundles = output.resolve("bundles");
    empty(bundles);
    empty(output.resolve("manifests"));
    Map<Path, BundleManifest> available = available();
    for (Map.Entry<String, VersionRange> wanted : wanted().entrySet()) {
      Path jar = find(available, wanted.getKey(), wanted.getValue());
      Files.copy(jar, bundles.resolve(jar.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
    }
    SystemPackages systemPackages = SystemPackages.assemble(output);
    System.out.println(
        new Distribution(output).seal()
            + " bundles, and "
            + systemPackages.libraries().size()
            + " libraries on the class path, in "
            + output);
    return Exit.OK;
  }

  private Map<String, VersionRange> wanted() throws IOException, Refusal {
    Matcher section = RUN_BUNDLES.matcher(Files.readString(bndrun));
    Map<String, VersionRange> wanted = new LinkedHashMap<>();
    if (section.find()) {
      Matcher bundle = BUNDLE.matcher(section.group(1));
      while (bundle.find()) {
        wanted.put(bundle.group(1), new VersionRange(bundle.group(2)));
      }
    }
    if (wanted.isEmpty()) {
      throw new Refusal(bndrun + " has no -runbundles; resolve it first");
    }
    return wanted;
  }

  private Map<Path, BundleManifest> available() throws IOException {
    Map<Path, BundleManifest> found = new LinkedHashMap<>();
    try (Stream<Path> jars = Files.list(pool)) {
      for (Path jar : jars.filter(AssembleCommand::isBundle).sorted().toList()) {
        found.put(jar, BundleManifest.read(jar));
      }
    }
    return found;
  }

  private static boolean isBundle(Path jar) {
    try {
      BundleManifest.read(jar);
      return true;
    } catch (IOException e) {
      // The pool holds plain libraries too, which lie inside of our library bundles.
      return false;
    }
  }

  private static Path find(Map<Path, BundleManifest> available, String name, VersionRange range)
      throws Refusal {
    List<Path> found =
        available.entrySet().stream()
            .filter(
                entry ->
                    entry.getValue().symbolicName().equals(name)
                        && range.includes(new Version(entry.getValue().version())))
            .map(Map.Entry::getKey)
            .toList();
    if (found.size() != 1) {
      throw new Refusal(
          name
              + " "
              + range
              + " is there "
              + found.size()
              + " times, not once: "
              + found
              + "; resolve again");
    }
    return found.getFirst();
  }

  private static void empty(Path folder) throws IOException {
    Files.createDirectories(folder);
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
  }
}
