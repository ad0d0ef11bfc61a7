import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Judges skipped tests by the checked-in list {@code allowed-skips.txt}: a skip is allowed if its
 * class stands in a line whose reason matches and whose condition holds in this run.
 */
final class TestSkips {

  static final String FILE = "launcher/script/allowed-skips.txt";

  /**
   * Describes skips that are allowed.
   *
   * @param condition when they are
   * @param reason what the test says
   * @param classes their simple names
   */
  private record Allowed(String condition, Pattern reason, List<String> classes) {

    boolean allows(TestRun.Case skipped) {
      String owner = skipped.topClass();
      return classes.contains(owner.substring(owner.lastIndexOf('.') + 1))
          && reason.matcher(skipped.message()).matches();
    }
  }

  private final List<Allowed> allowed;

  private TestSkips(List<Allowed> allowed) {
    this.allowed = allowed;
  }

  /** Reads the lines of the list whose condition holds. */
  static TestSkips read(Path repository, String tier, String kubernetes) throws IOException {
    boolean root = Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    List<Allowed> allowed = new ArrayList<>();
    for (String line : Files.readAllLines(repository.resolve(FILE))) {
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      String[] columns = line.split("\\s+\\|\\s+");
      if (columns.length != 3) {
        throw new IOException(FILE + ": not CONDITION | CLASSES | REASON: " + line);
      }
      boolean holds =
          switch (columns[0]) {
            case "always", "machine" -> true;
            case "root" -> root;
            case "user" -> !root;
            case "quick" -> tier.equals("quick");
            // The quick tier runs wherever a node runs; the others need a yes to leave it out.
            case "kubernetes" ->
                kubernetes.equals("without") || kubernetes.equals("missing") && tier.equals("quick");
            default ->
                throw new IOException(
                    FILE + ": " + columns[0] + " is no condition, in the line " + line);
          };
      if (holds) {
        allowed.add(
            new Allowed(
                columns[0], Pattern.compile(columns[2]), List.of(columns[1].split("\\s+"))));
      }
    }
    return new TestSkips(allowed);
  }

  /** Returns how many tests gave each reason. */
  Map<String, Integer> reasons(TestRun run) {
    Map<String, Integer> reasons = new TreeMap<>();
    run.skipped().forEach(skipped -> reasons.merge(skipped.message(), 1, Integer::sum));
    return reasons;
  }

  /** Returns a line for each skip that no line of the list allows. */
  List<String> forbidden(TestRun run) {
    return run.skipped().stream()
        .filter(skipped -> allowed.stream().noneMatch(each -> each.allows(skipped)))
        .map(
            skipped ->
                "SKIPPED, which %s does not allow in this run: %s: %s"
                    .formatted(FILE, skipped.test(), skipped.message()))
        .toList();
  }
}
